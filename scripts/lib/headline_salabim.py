"""The headline's model in salabim: prints the seconds of a core that 240 s of it take, and goodput at the end."""

import random
import time

import salabim as sim

RATE, CAPACITY, SLOTS, TIMEOUT, RETRIES, END = 80.0, 100.0, 10, 5.0, 3, 240.0

sim.yieldless(False)


class Attempt:
    __slots__ = ("caller", "done")

    def __init__(self, caller):
        self.caller, self.done = caller, False


class Slot(sim.Component):
    def setup(self, world):
        self.world = world

    def process(self):
        waiting = self.world.waiting
        while True:
            while self.world.first == len(waiting):
                self.world.idle.append(self)
                yield self.passivate()
            attempt = waiting[self.world.first]
            self.world.first += 1
            cut = 0.4 if 60.0 <= self.env.now() < 80.0 else 1.0
            yield self.hold(SLOTS / (CAPACITY * cut))
            if attempt.caller is not None:
                attempt.done = True
                attempt.caller.activate()


class Request(sim.Component):
    def setup(self, world):
        self.world = world

    def process(self):
        for number in range(RETRIES + 1):
            attempt = Attempt(self)
            self.world.waiting.append(attempt)
            if self.world.idle:
                self.world.idle.pop().activate()
            yield self.hold(TIMEOUT)
            attempt.caller = None
            if attempt.done:
                self.world.good.append(self.env.now())
                return
            yield self.hold(2.0**number)


class Arrivals(sim.Component):
    def setup(self, world, stream):
        self.world, self.stream = world, stream

    def process(self):
        while True:
            yield self.hold(self.stream.expovariate(RATE))
            Request(world=self.world)


class World:
    def __init__(self):
        self.waiting, self.first, self.idle, self.good = [], 0, [], []


def run(seed):
    env, world = sim.Environment(trace=False), World()
    for _ in range(SLOTS):
        Slot(world=world)
    Arrivals(world=world, stream=random.Random(seed))
    env.run(till=END)
    return sum(1 for at in world.good if at >= END - 20) / 20


if __name__ == "__main__":
    taken = []
    for seed in range(3):
        start = time.process_time()
        goodput = run(seed)
        taken.append(time.process_time() - start)
    print(f"salabim {sim.__version__} {min(taken):.3f} {goodput:.1f}")
