"""The headline's model in SimPy: prints the seconds of a core that 240 s of it take, and goodput at the end."""

import random
import time

import simpy

RATE, CAPACITY, SLOTS, TIMEOUT, RETRIES, END = 80.0, 100.0, 10, 5.0, 3, 240.0


class Job:
    __slots__ = ("done",)

    def __init__(self, done):
        self.done = done


def slot(env, queue):
    while True:
        job = yield queue.get()
        cut = 0.4 if 60.0 <= env.now < 80.0 else 1.0
        yield env.timeout(SLOTS / (CAPACITY * cut))
        job.done.succeed()


def request(env, queue, good):
    for attempt in range(RETRIES + 1):
        done = env.event()
        yield queue.put(Job(done))
        yield done | env.timeout(TIMEOUT)
        if done.processed:
            good.append(env.now)
            return
        yield env.timeout(2.0**attempt)


def arrivals(env, queue, good, stream):
    while True:
        yield env.timeout(stream.expovariate(RATE))
        env.process(request(env, queue, good))


def run(seed):
    env, good = simpy.Environment(), []
    queue = simpy.Store(env)
    for _ in range(SLOTS):
        env.process(slot(env, queue))
    env.process(arrivals(env, queue, good, random.Random(seed)))
    env.run(until=END)
    return sum(1 for at in good if at >= END - 20) / 20


if __name__ == "__main__":
    taken = []
    for seed in range(3):
        start = time.process_time()
        goodput = run(seed)
        taken.append(time.process_time() - start)
    print(f"simpy {simpy.__version__} {min(taken):.3f} {goodput:.1f}")
