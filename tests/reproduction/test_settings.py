"""Settings of runs, and the names of files that follow from them."""

from reproduction import settings as settings_of


def test_equal_settings_have_one_name_in_any_order_and_others_have_another() -> None:
    one = settings_of.gcws("semg", k=64, b=8, L=2)
    other = dict(reversed(one.items()))
    assert settings_of.key(one) == settings_of.key(other)
    assert len({settings_of.key({**one, name: 7}) for name in one} | {settings_of.key(one)}) == len(one) + 1


def test_the_name_of_a_run_stays_so_that_stored_results_are_found() -> None:
    assert settings_of.key(settings_of.gcws("semg", k=64, b=8, L=1)) == "gcws-semg-d0705c10ae6da5c3"
    assert settings_of.key(settings_of.gcws("semg", k=64, b=8, L=1, rate=0.01)) != "gcws-semg-d0705c10ae6da5c3"


def test_nets_are_trained_with_each_seed_and_other_runs_once() -> None:
    net, machine = settings_of.gcws("semg", k=64, b=8, L=2), settings_of.svm("semg", kernel="linear", C=(1,))
    assert settings_of.with_seeds([net, machine], 3) == [net, machine, {**net, "seed": 1}, {**net, "seed": 2}]
