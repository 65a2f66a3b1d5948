"""Does Ctrl-C end everything that takes long, and do other threads go on meanwhile?"""

import signal
import subprocess
import sys
import threading
import time

import chorus
import pytest

#: Calls that take minutes.
LONG = {
    "run": "chorus.run('hmg', 'hmg', 'mst', scale='paper', progress=tell)",
    "sweep": "chorus.sweep('hmg', ['hmg', 'nhcc'], ['mst', 'bfs'], scale='paper', jobs=2, progress=tell)",
    "why": "chorus.why('hmg', 'hmg', 'mst', scale='paper', progress=tell)",
    "check": "chorus.check('hmg', machine='caches=3,modules=3,operations=3', progress=tell)",
    "litmus": "chorus.litmus('hmg', threads=1, progress=tell)",
    "threads": "chorus.run('hmg', 'hmg', 'mst', scale='paper', threads=2, progress=tell)",
}

PROGRAM = """
import sys, time, chorus
told = 0
def tell(*progress):
    global told
    told += 1
    if told == 3:
        print("busy", flush=True)
try:
    {call}
    print("ended")
except KeyboardInterrupt:
    print("interrupted", flush=True)
    # What was stopped is gone: another call works at once.
    print(chorus.run("tc", "gpu-vi", "stn").result, flush=True)
"""


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_a_call_and_the_next_one_works(name):
    program = PROGRAM.format(call=LONG[name])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "busy\n"
            begin = time.monotonic()
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
            assert time.monotonic() - begin < 10
            assert child.stdout.readline() == "pass\n"
            assert child.wait(timeout=60) == 0
        finally:
            child.kill()


def test_other_threads_go_on_during_a_run():
    ticks = 0
    over = threading.Event()

    def tick():
        nonlocal ticks
        while not over.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    chorus.sweep("tc", ["gpu-vi", "tc-weak", "mesi"], ["stn", "hsp"], jobs=1)
    elapsed = time.monotonic() - begin
    over.set()
    thread.join()
    assert ticks > elapsed * 50, "a thread that needs Python's lock had it most of the time"


def test_calls_of_several_threads_run_side_by_side():
    results = {}

    def make(seed):
        results[seed] = chorus.run("tc", "gpu-vi", "stn", seed=seed).cycles

    threads = [threading.Thread(target=make, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {seed: chorus.run("tc", "gpu-vi", "stn", seed=seed).cycles for seed in (1, 2, 3)}


def test_an_error_of_the_progress_function_ends_the_call():
    def fail(done, total, what):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        chorus.run("hmg", "hmg", "mst", scale="paper", progress=fail)
