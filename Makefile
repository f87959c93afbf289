# make demo, make test: set everything up in .venv and run. What has not changed is not built again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check
BUILD_TOOLS := scikit-build-core nanobind cmake ninja
NATIVE := CMakeLists.txt pyproject.toml constraints.txt $(wildcard src/cpp/* src/cpp/*/*)

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-peers lint format bench paper docs sanitize sanitize-threads emulate-arm fuzz \
  fuzz-native clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | sort

$(VENV)/.tools: constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt $(BUILD_TOOLS)
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(NATIVE)
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[demo,test,lint]'
	touch $@

setup: $(VENV)/.installed ## a virtual environment with the package, its native core built, and all tools

demo: setup ## GCWSNet next to LightGBM, on a table and on sensor data
	$(BIN)/python examples/demo.py

TEST_PROCESSES := 2
PYTEST := $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist worksteal --durations 10
test: setup ## the tests, except those that are slow on purpose
	$(PYTEST) -m "not slow"

test-all: setup ## all tests
	$(PYTEST)

test-peers: setup ## the tests that need other packages to compare with, after installing these
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[bench,docs,suite]'
	$(PYTEST) tests/benchmarks tests/docs tests/test_pages.py tests/test_gallery.py tests/test_river.py tests/test_demo.py

CPP := $(wildcard src/cpp/*.?pp src/cpp/*/*.?pp tests/fuzz/native/*.?pp)
lint: setup ## style, types and structure
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

format: setup ## put the source into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

bench: setup ## the benchmarks, with the peers they compare with
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[bench]'
	$(BIN)/python -m benchmarks kernels
	$(BIN)/python -m benchmarks training
	$(BIN)/python -m benchmarks hashing --plot build/hashing-speed.png

RUN ?=
paper: setup ## docs/reproduction.md from the stored results; RUN="table1 nrff --jobs -1" first runs what is missing of these
ifneq ($(strip $(RUN)),)
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[paper]'
	$(BIN)/python -m reproduction run $(RUN)
endif
	$(BIN)/python -m reproduction report

docs: setup ## the documentation site in build/docs, with every page looked at in a browser
	$(PIP) install --quiet --constraint constraints.txt --no-build-isolation --editable '.[docs]'
	rm -rf build/docs build/doctrees docs/api/generated
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -d build/doctrees docs build/docs
	$(BIN)/python -m pytest tests/docs/check_site.py

# A second environment that sees the packages of the first one, but not its installed gcwsnet. The tests that enter the
# native core run in parts; one that has passed is not run again before the package or its tests have changed.
SANITIZED := build/sanitized
SANITIZED_RUN := LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
  PYTHONPATH=$(CURDIR)/$(SANITIZED)/site $(SANITIZED)/venv/bin/python
SANITIZED_PARTS := $(addprefix tests/,hashing kernels tables net nn neighbors files test_fourier.py \
  test_instruction_set.py test_threads.py test_input_forms.py)
LONG_ON_PURPOSE := --ignore tests/hashing/test_long_work.py
# libasan of GCC 12 keeps the lock of its allocator over a fork, if another thread has it: the new process then hangs.
FORKS_AT_WORK := --deselect "tests/test_threads.py::test_a_forked_process_has_threads_of_its_own[work]"
# What a sanitizer remembers of freed memory counts as memory that is in use.
MEASURES_MEMORY := --deselect tests/files/test_sources.py::test_a_file_of_several_gigabytes_with_one_line_is_an_error
SOURCES := $(NATIVE) $(wildcard src/gcwsnet/*.py src/gcwsnet/*/*.py src/gcwsnet/*/*/*.py)
sanitize: $(SANITIZED_PARTS:%=$(SANITIZED)/passed/%) ## tests with a native core that checks its memory and its arithmetic

# The package in a folder, with a native core that was built with an option, which is what a way to run Python then finds.
define package_in
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/cmake -S . -B $(1)/cmake -G Ninja -D$(2)=ON \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python
	$(BIN)/cmake --build $(1)/cmake
	rm -rf $(1)/site && mkdir -p $(1)/site
	cp -R src/gcwsnet $(1)/site/
	cp $(1)/cmake/_core*.so $(1)/site/gcwsnet/
	$(3) -c "import gcwsnet._core as core; assert '$(1)/' in core.__file__, core.__file__"
endef

$(SANITIZED)/venv: | setup
	$(PYTHON) -m venv --without-pip $@
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$($@/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/tools.pth

$(SANITIZED)/site: $(SOURCES) | setup $(SANITIZED)/venv
	$(call package_in,$(SANITIZED),GCWSNET_SANITIZE,$(SANITIZED_RUN))

.SECONDEXPANSION:
$(SANITIZED)/passed/%: $(SANITIZED)/site $$(wildcard $$* $$*/*.py) tests/conftest.py
	$(SANITIZED_RUN) -m pytest --capture=sys --hypothesis-profile sanitized -m "not slow" $(LONG_ON_PURPOSE) $(FORKS_AT_WORK) \
	  $(MEASURES_MEMORY) $*
	mkdir -p $(@D) && touch $@

# The same environment with a native core that ThreadSanitizer watches: the pool, tables, training and search.
THREADS := build/sanitized-threads
THREADS_RUN := LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)" TSAN_OPTIONS="exitcode=66 die_after_fork=0" \
  PYTHONPATH=$(CURDIR)/$(THREADS)/site $(SANITIZED)/venv/bin/python
sanitize-threads: setup $(SANITIZED)/venv ## tests of threads with a native core that looks for data races
	$(call package_in,$(THREADS),GCWSNET_SANITIZE_THREADS,$(THREADS_RUN))
	$(THREADS_RUN) tests/races.py

# On another processor QEMU runs what a cross-compiler has built.
ARM_TESTS ?=
emulate-arm: setup ## golden codes and models on an emulated ARM processor (aarch64); ARM_TESTS="tests/kernels" for others
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.emulation.arm $(ARM_TESTS)

FUZZ_SECONDS ?= 300
FUZZ_SEED ?= $(shell date +%s)
FUZZ_FAULTS ?= 100
FUZZ_KILLS ?= 200
FUZZ_OVERLAPS ?= 20
fuzz: setup ## mutated files against the readers and the loaders, faults, kills and overlaps; FUZZ_SECONDS=3600 for more
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --faults $(FUZZ_FAULTS) --kills $(FUZZ_KILLS) \
	  --overlaps $(FUZZ_OVERLAPS)

# The readers alone, by libFuzzer, which clang has.
NATIVE_FUZZ := build/fuzz
fuzz-native: ## any bytes against the native readers of LIBSVM and CSV, which needs clang++
	for name in libsvm csv; do \
	  mkdir -p $(NATIVE_FUZZ)/$$name && \
	  clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Isrc/cpp \
	    tests/fuzz/native/$$name.cpp src/cpp/reading/$$name.cpp -o $(NATIVE_FUZZ)/fuzz-$$name && \
	  $(NATIVE_FUZZ)/fuzz-$$name $(NATIVE_FUZZ)/$$name -dict=tests/fuzz/native/tokens.dict -max_len=4096 \
	    -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -verbosity=0 -artifact_prefix=$(NATIVE_FUZZ)/ || exit 1; \
	done

clean: ## remove everything that was made
	rm -rf $(VENV) build docs/api/generated docs/gallery .pytest_cache .mypy_cache .ruff_cache .hypothesis
