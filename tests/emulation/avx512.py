"""Hashes on an emulated processor with AVX-512, by ``make emulate-avx512``, where the machine at hand has none.

Bochs emulates a Skylake-X, every instruction by itself. It boots a Linux kernel whose only content is Python, NumPy and
the native core as it was built. There the cases below are computed with AVX-512, and digests of the results come back
through the serial port. They must be those of the NumPy reference. On Debian:

    apt-get install bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso

The kernel is that of the machine, or the one of ``--kernel``, or else Debian's, which ``apt-get download`` fetches.
``--module NAME`` runs another module of the tests, which may import NumPy and the native core. Bochs does some 20
million instructions in a second, so that all cases take about ten minutes of one core.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from tests.hashing.hurtful import HURTFUL

N_HASHES, POWERS = 35, (1.0, 20.0)
SCANS = (_core.Scan.AUTO, _core.Scan.FULL, _core.Scan.SORTED, _core.Scan.HEAVY, _core.Scan.RANKS)
ROOT = Path(__file__).parents[2]
PROGRAMS = ("bochs", "xorriso")
LOADER = (Path("/usr/lib/ISOLINUX/isolinux.bin"), Path("/usr/lib/syslinux/modules/bios/ldlinux.c32"))
BIOS, VGA_BIOS = Path("/usr/share/bochs/BIOS-bochs-latest"), Path("/usr/share/bochs/VGABIOS-lgpl-latest")
DEBIAN_KERNEL = "linux-image-cloud-amd64"
IMPORTED = ("numpy",)
LEFT_OUT = re.compile(r"/(site-packages|test|tests|idlelib|tkinter|ensurepip|turtledemo|lib2to3|config-3[^/]*)/")

# The kernel takes Bochs's saved registers for damaged if they are compacted, and then switches AVX off.
KERNEL_OPTIONS = "console=ttyS0,115200 quiet nosmp mitigations=off tsc=reliable clearcpuid=xsaves,xsavec"
BOCHS = """
cpu: model=corei7_skylake_x, ips=100000000
memory: guest=2048, host=2048
romimage: file={bios}
vgaromimage: file={vga_bios}
ata0-master: type=cdrom, path={disc}, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={serial}
display_library: rfb, options="timeout=0"
log: {log}
panic: action=fatal
error: action=ignore
info: action=ignore
"""
# The first process of the emulated machine. It waits at the end: without it, the kernel stops with a panic.
INIT = """#!{python} -S
import ctypes, os, signal, subprocess
libc = ctypes.CDLL(None)
for kind, place in ((b"proc", b"/proc"), (b"devtmpfs", b"/dev"), (b"tmpfs", b"/tmp")):
    libc.mount(kind, place, kind, 0, None)
serial = os.open("/dev/ttyS0", os.O_WRONLY)
ended = subprocess.run({command!r}, cwd="/repository", stdout=serial, stderr=serial, env={environment!r})
os.write(serial, b"\\nexit code %d\\n" % ended.returncode)
signal.pause()
"""
ENDED = re.compile(r"^exit code (-?\d+)\r?\n|Kernel panic", re.MULTILINE)


def files() -> Iterator[tuple[Path, Path]]:
    """Return the files of the emulated machine, each with its path there."""
    python = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    kept = {python}
    kept |= {path for path in library.rglob("*") if path.is_file() and not LEFT_OUT.search(f"{path}/")}
    for distribution in map(importlib.metadata.distribution, IMPORTED):
        listed = [Path(str(file.locate())) for file in distribution.files or [] if "/tests/" not in f"/{file}"]
        kept |= {path for path in listed if path.is_file() and ".." not in path.parts}
    binaries = [str(path) for path in sorted(kept | {Path(_core.__file__)}) if path == python or ".so" in path.suffixes]
    linked = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False).stdout
    kept |= {Path(os.path.normpath(path)) for path in re.findall(r"(?:=> |^\s+)(/\S+) \(0x", linked, re.MULTILINE)}
    yield from ((path, path) for path in sorted(kept))
    inside = Path("/repository")
    yield Path(_core.__file__), inside / "src/gcwsnet" / Path(_core.__file__).name
    for pattern in ("src/gcwsnet/**/*.py", "tests/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            yield path, inside / path.relative_to(ROOT)


def write_archive(to: Path, init: str) -> None:
    """Write the files of the emulated machine as the archive that a kernel starts from, of cpio's newc format."""
    with to.open("wb") as out:
        number = 0

        def add(name: Path, mode: int, content: bytes = b"") -> None:
            nonlocal number
            number += 1
            text = str(name).lstrip("/").encode() + b"\0"
            fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(text), 0)
            head = b"070701" + b"".join(b"%08x" % field for field in fields) + text
            out.write(head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4))

        folders = {Path("/")}

        def add_folders(of: Path) -> None:
            for folder in reversed([of, *of.parents]):
                if folder not in folders:
                    folders.add(folder)
                    add(folder, 0o40755)

        for folder in ("/proc", "/dev", "/tmp"):
            add_folders(Path(folder))
        add(Path("init"), 0o100755, init.encode())
        for source, path in files():
            add_folders(path.parent)
            add(path, 0o100755, source.read_bytes())
        add(Path("TRAILER!!!"), 0)


def find_kernel(given: Path | None, work: Path) -> Path:
    """Return the Linux kernel to boot; it is fetched from Debian if there is none."""
    installed = [path for path in [given, *sorted(Path("/boot").glob("vmlinuz-*"), reverse=True)] if path is not None]
    if installed:
        return installed[0]
    if not (found := sorted(work.glob("kernel/boot/vmlinuz-*"))):
        needs = subprocess.run(
            ["apt-cache", "depends", DEBIAN_KERNEL], capture_output=True, text=True, check=True
        ).stdout
        package = re.findall(r"Depends: (\S+)", needs)[0]
        if "unsigned" not in package:
            package += "-unsigned"
        subprocess.run(["apt-get", "download", package], cwd=work, check=True)
        subprocess.run(
            ["dpkg-deb", "-x", *(str(path) for path in work.glob("*.deb")), str(work / "kernel")], check=True
        )
        found = sorted(work.glob("kernel/boot/vmlinuz-*"))
    return found[0]


def run(command: list[str], kernel: Path | None, work: Path) -> tuple[int, str]:
    """Return the exit code and the output of Python with these arguments on the emulated processor."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    missing += [str(path) for path in (*LOADER, BIOS, VGA_BIOS) if not path.exists()]
    if missing:
        sys.exit(f"the emulation needs {', '.join(missing)}: install the packages that tests/emulation/avx512.py names")
    disc = work / "disc"
    disc.mkdir(parents=True, exist_ok=True)
    python = str(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    paths = [
        "/repository/src",
        sysconfig.get_path("purelib"),
        *(path for path in sys.path if path.endswith("site-packages")),
    ]
    environment = {"PYTHONPATH": ":".join(dict.fromkeys(paths)), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/tmp"}
    environment["OPENBLAS_NUM_THREADS"] = environment["OMP_NUM_THREADS"] = "1"
    write_archive(disc / "archive", INIT.format(python=python, command=[python, *command], environment=environment))
    subprocess.run(["gzip", "-1", "--force", str(disc / "archive")], check=True)
    shutil.copy(find_kernel(kernel, work), disc / "kernel")
    for path in LOADER:
        shutil.copy(path, disc)
    (disc / "isolinux.cfg").write_text(
        f"default go\nlabel go\nkernel kernel\nappend initrd=archive.gz {KERNEL_OPTIONS}\n"
    )
    names = {name: work / name for name in ("disc.iso", "serial.txt", "bochs.log", "bochsrc", "debugger")}
    loader = ["-b", LOADER[0].name, "-no-emul-boot", "-boot-load-size", "4", "-boot-info-table"]
    subprocess.run(
        ["xorriso", "-as", "mkisofs", "-quiet", "-o", str(names["disc.iso"]), *loader, str(disc)], check=True
    )
    names["bochsrc"].write_text(
        BOCHS.format(
            bios=BIOS, vga_bios=VGA_BIOS, disc=names["disc.iso"], serial=names["serial.txt"], log=names["bochs.log"]
        )
    )
    names["debugger"].write_text("continue\n")  # Debian's Bochs stops before the first instruction
    names["serial.txt"].unlink(missing_ok=True)
    options = ["-q", "-f", str(names["bochsrc"]), "-rc", str(names["debugger"])]
    with (
        (work / "bochs.txt").open("wb") as talk,
        subprocess.Popen(["bochs", *options], stdin=subprocess.DEVNULL, stdout=talk, stderr=talk) as machine,
    ):
        ended, output = None, ""
        while ended is None and machine.poll() is None:
            time.sleep(1)
            output = names["serial.txt"].read_text(errors="replace") if names["serial.txt"].exists() else ""
            ended = ENDED.search(output)
        machine.terminate()
    return (int(ended[1]) if ended and ended[1] else 1), output


def csr(X: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the data, the indices and the index pointer of the CSR matrix of X."""
    rows, columns = np.nonzero(X)
    counts = np.bincount(rows, minlength=len(X))
    return X[rows, columns], columns.astype(np.int32), np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def sampled(X: NDArray[np.float64], p: float, scan: _core.Scan, method: _core.Method, memory: int, sparse: bool) -> str:
    """Return the digest of the samples of rows, by the native core."""
    hasher = _core.Hasher(3, X.shape[1], N_HASHES, memory, scan, method)
    if method == _core.Method.REJECTION:  # one cap for all features, a little above the largest entry
        n = 2 * X.shape[1]
        log_cap = np.float32(p * np.log(np.abs(X).max()) + 0.01)
        hasher.use_caps(np.full(n, log_cap), np.array([2**63 * (i + 1) // n for i in range(n)], dtype=np.uint64))
    i_star, t_star = (np.empty((len(X), N_HASHES), np.int64) for _ in range(2))
    if sparse:
        hasher.samples_of_csr(*csr(X), p, False, i_star, t_star, 1)
    else:
        hasher.samples_of_dense(np.ascontiguousarray(X), p, False, i_star, t_star, 1)
    return digest(i_star, t_star)


def trained(loss: str, hidden: tuple[int, ...], reduction: int) -> str:
    """Return the digest of the weights, the moments and the outputs of a net after eight steps."""
    rng = np.random.default_rng(4)
    codes, n_outputs, n_steps = rng.integers(0, 256, (96, 20), dtype=np.uint8), 3, 8
    is_class = loss == "cross_entropy"
    targets: NDArray[Any] = rng.integers(0, n_outputs, 96) if is_class else rng.normal(size=(96, 3)).astype(np.float32)
    net = _core.Net(20, 8, hidden, n_outputs, reduction=reduction, seed=5)
    losses, successes = np.empty(n_steps), np.empty((n_steps, *targets.shape[1:]))
    net.train(
        codes,
        targets,
        batch_size=12,
        rates=np.full(n_steps, 0.01),
        losses=losses,
        successes=successes,
        loss=loss,
        betas=(0.9, 0.999),
    )
    return digest(*net.weights().values(), *net.second_moments().values(), net.outputs(codes), losses)


def digest(*arrays: NDArray[Any]) -> str:
    """Return sixteen letters that stand for the bytes of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


def cases() -> Iterator[tuple[str, Callable[[], str]]]:
    """Return the name of each case, and the function that computes its digest with the instruction set in use."""
    gcws = _core.Method.GCWS
    for name, X in HURTFUL.items():
        for p in POWERS:
            for scan in SCANS:
                for sparse in (False, True):
                    title = f"gcws/{name}/{p:g}/{scan.name}/{'csr' if sparse else 'dense'}"
                    yield title, partial(sampled, X, p, scan, gcws, 1 << 28, sparse)
            yield f"gcws/{name}/{p:g}/generated/csr", partial(sampled, X, p, _core.Scan.AUTO, gcws, 0, True)
        for method in (_core.Method.BINWISE, _core.Method.EXTREMAL, _core.Method.MINWISE, _core.Method.REJECTION):
            yield f"{method.name}/{name}", partial(sampled, X, 1.0, _core.Scan.AUTO, method, 1 << 28, True)

    for loss in ("cross_entropy", "squared_error"):
        for hidden in ((), (24,), (24, 10)):
            for reduction in (1, 4):
                yield f"training/{loss}/{hidden}/{reduction}", partial(trained, loss, hidden, reduction)


def show() -> None:
    """Print the instruction set in use and the digests of all cases."""
    print("instruction set", _core.instruction_set())
    for name, compute in cases():
        print(f"{name}: {compute()}", flush=True)


def expected() -> dict[str, str]:
    """Return the digests of all cases: of the reference for GCWS, of the core's baseline for samplers and nets."""
    from gcwsnet.hashing.reference import gcws  # noqa: PLC0415 - it needs scipy, which is not on the emulated machine

    _core.use_instruction_set("baseline")
    found = {}
    reference = {(name, p): digest(*gcws(X, N_HASHES, p=p, seed=3)) for name, X in HURTFUL.items() for p in POWERS}
    for name, compute in cases():
        parts = name.split("/")
        is_gcws = parts[0] == "gcws"
        found[name] = reference["/".join(parts[1:-3]), float(parts[-3])] if is_gcws else compute()
    return found


def main() -> None:
    """Compare the digests, or run a module on the emulated processor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", type=Path, help="a Linux kernel, vmlinuz")
    parser.add_argument("--work", type=Path, default=ROOT / "build/avx512", help="a folder for the disc and the output")
    parser.add_argument("--module", help="a module of the tests to run instead")
    options = parser.parse_args()
    command = ["-m", options.module] if options.module else ["-c", "from tests.emulation import avx512; avx512.show()"]
    code, output = run(["-u", *command], options.kernel, options.work.resolve())
    if options.module or code != 0:
        print(output, end="")
        sys.exit(code)
    if "instruction set avx512" not in output:
        sys.exit("the emulated processor has no AVX-512")
    found = dict(re.findall(r"^(\S.*): ([0-9a-f]{16})\r?$", output, re.MULTILINE))
    wanted = expected()
    wrong = [name for name, value in wanted.items() if found.get(name) != value]
    for name in wrong:
        print(f"{name}: expected {wanted[name]}, got {found.get(name)}")
    print(f"{len(wanted) - len(wrong)} of {len(wanted)} cases have the expected digest with AVX-512")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
