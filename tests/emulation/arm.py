"""Tests on an emulated ARM processor, by ``make emulate-arm``, with a native core that is built for aarch64.

A cross-compiler builds it. QEMU runs the tests with an arm64 Python of Debian, and with wheels of NumPy, SciPy and
scikit-learn for aarch64. They are downloaded into a folder, and nothing outside of it changes. Other arguments go to
pytest; if there is no path among them, the tests of golden codes and golden models run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
    "apt-get": "apt",
    "dpkg-deb": "dpkg",
    "cmake": "cmake",
    "ninja": "ninja-build",
}
"""Each program that is needed, and the package of Debian and Ubuntu that has it."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SYSTEM = ["python3", "libpython3-dev", "libstdc++6"]
TESTED_WITH = ["hypothesis", "nanobind", "pytest"]
GOLDEN = [
    "tests/hashing/test_golden.py",
    "tests/net/test_engine_same_everywhere.py",
    "tests/estimators/test_same_model_everywhere.py",
]


def missing_tools() -> str | None:
    """Return what is missing on this machine and the command that installs it, or None."""
    packages = {program: package for program, package in TOOLS.items() if shutil.which(program) is None}
    if not KEYRING.exists():
        packages[str(KEYRING)] = "debian-archive-keyring"
    if not packages:
        return None
    install = f"apt-get install {' '.join(packages.values())}"
    return f"the tests on ARM need {', '.join(packages)}, which this machine does not have: {install}"


def make_system(folder: Path, mirror: str, release: str) -> Path:
    """Return the folder of an arm64 Debian with Python, whose packages are downloaded if it is not there."""
    root, apt = folder / "root", folder / "apt"
    if (root / "usr/bin/python3").exists():
        return root
    for name in ("state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {release} main\n", encoding="utf-8")
    settings = {
        "APT::Architecture": "arm64",
        "APT::Architectures": "arm64",
        "APT::Sandbox::User": "",
        "Dir::State": apt / "state",
        "Dir::State::status": apt / "status",
        "Dir::Cache": apt / "cache",
        "Dir::Etc::sourcelist": apt / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
    }
    command = ["apt-get", "--quiet", "--yes", *(f"--option={name}={value}" for name, value in settings.items())]
    subprocess.run([*command, "update"], check=True)
    subprocess.run([*command, "--no-install-recommends", "--download-only", "install", *SYSTEM], check=True)
    for package in sorted((apt / "cache/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    return root


def make_environment(folder: Path, root: Path) -> Path:
    """Return the Python of a virtual environment of the arm64 system, which a script runs by the emulator."""
    python = (root / "usr/bin/python3").resolve()
    number = python.name.removeprefix("python")
    environment = folder / "environment"
    script, packages = environment / "bin/python", environment / f"lib/{python.name}/site-packages"
    if (environment / "pyvenv.cfg").exists():
        return script
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f'#!/bin/sh\nexec qemu-aarch64 -L "{root}" -0 "{script}" "{python}" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    needs = [need for need in requires("gcwsnet") or [] if "extra ==" not in need]
    platforms = [f"--platform=manylinux{name}_aarch64" for name in ("2014", "_2_27", "_2_28")]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", f"--target={packages}", "--only-binary=:all:"]
    constraints = f"--constraint={ROOT / 'constraints.txt'}"
    subprocess.run([*pip, *platforms, f"--python-version={number}", constraints, *needs, *TESTED_WITH], check=True)
    (environment / "pyvenv.cfg").write_text(f"home = {python.parent}\nversion = {number}\n", encoding="utf-8")
    return script


def build(folder: Path, root: Path, python: Path) -> Path:
    """Return a folder with the package and its native core for aarch64."""
    made, site = folder / "cmake", folder / "site"
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_TOOLCHAIN_FILE": ROOT / "tests/emulation/arm_toolchain.cmake",
        "GCWSNET_ARM_ROOT": root,
        "Python_EXECUTABLE": python,
    }
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    subprocess.run(["cmake", "-S", ROOT, "-B", made, "-G", "Ninja", *defined], check=True)
    subprocess.run(["cmake", "--build", made], check=True)
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(ROOT / "src/gcwsnet", site / "gcwsnet", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    (core,) = made.glob("_core*.so")
    shutil.copy2(core, site / "gcwsnet")
    return site


def main() -> int:
    """Build and test, and return the exit code of pytest."""
    parser = argparse.ArgumentParser(prog="python -m tests.emulation.arm", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "build/arm", help="for all that is made")
    parser.add_argument("--mirror", default="http://deb.debian.org/debian", help="of Debian, for arm64")
    parser.add_argument("--release", default="bookworm", help="of Debian")
    options, given = parser.parse_known_args()
    missing = missing_tools()
    if missing is not None:
        print(f"error: {missing}", file=sys.stderr)
        return 1
    folder = options.folder.resolve()
    root = make_system(folder, options.mirror, options.release)
    python = make_environment(folder, root)
    site = build(folder, root, python)
    found = {"PYTHONPATH": str(site), "OPENBLAS_NUM_THREADS": "1"}
    tests = [] if any((ROOT / one.partition("::")[0]).exists() for one in given) else GOLDEN
    command = [str(python), "-m", "pytest", "-p", "no:cacheprovider", *tests, *given]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **found}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
