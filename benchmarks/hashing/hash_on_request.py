"""A process that hashes rows on request: ``python hash_on_request.py [FOLDER]``, with the gcwsnet of the folder.

Requests and answers are pickles on stdin and stdout. Rows, p and the number of hashes come first and have no answer.
"codes" is answered by a digest of the codes, "seconds" by the processor time of one more call.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from importlib.machinery import PathFinder


def serve() -> None:
    """Answer requests until stdin ends."""
    from gcwsnet import GCWSHasher

    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        if isinstance(request, tuple):
            X, p, n_hashes = request
            hasher = GCWSHasher(n_hashes, p=p, random_state=0, n_jobs=1).fit(X[:1])
            continue
        start = time.process_time()
        codes = hasher.transform(X)
        answer = time.process_time() - start if request == "seconds" else hashlib.sha256(codes.tobytes()).hexdigest()
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])
        sys.meta_path.insert(0, PathFinder)  # before the one of an editable installation
    serve()
