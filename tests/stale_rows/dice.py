"""Random numbers: drawn inside and outside, seeded and not, from every source there is.

What a row yields is a property that every run has ("three draws differ"), or, with a seed, the
draws themselves: the runner seeds `random` and `np.random` alike before each run.
"""

import hashlib
import os
import random
import secrets
import uuid

import numpy as np

from minigrad import Value

from . import SAME, Notebook, catalogue

row = catalogue("random generators")


def how_many(draws):
    """Count the different numbers among draws."""
    return len({draw.data if isinstance(draw, Value) else float(draw) for draw in draws})


@row()
def random_random(compiled):
    f = compiled(lambda x: x * random.random())
    yield [f(1.0) for _ in range(3)]


@row()
def a_name_imported_from_random(compiled):
    cells = Notebook(compiled)
    cells.run(
        """
        from random import gauss
        @compiled
        def f(x): return x * gauss(0.0, 1.0)
        """
    )
    yield [cells.f(1.0) for _ in range(3)]


@row()
def a_generator_outside(compiled):
    rng = random.Random(7)
    f = compiled(lambda x: x * rng.gauss(0.0, 1.0))
    yield [f(1.0) for _ in range(3)]


@row(SAME)
def draws_made_outside_are_arguments(compiled):
    rng = random.Random(7)
    f = compiled(lambda x, mask: sum(x * m for m in mask))
    yield [f(1.0, [float(rng.random() > 0.5) for _ in range(4)]) for _ in range(6)]


@row(SAME)
def a_mask_outside_is_drawn_anew(compiled):
    rng = random.Random(7)
    mask = [1.0] * 4
    f = compiled(lambda x: sum(x * m * k for k, m in enumerate(mask)))
    for _ in range(4):
        mask[:] = [float(rng.random() > 0.5) for _ in range(4)]
        yield f(1.0)


@row()
def a_generator_with_a_seed_made_inside(compiled):
    f = compiled(lambda x, seed: x * random.Random(seed).random())
    yield [f(1.0, seed) for seed in (1, 2, 1, 3)]


@row()
def a_generator_with_a_global_seed_made_inside(compiled):
    seed = 1
    f = compiled(lambda x: x * random.Random(seed).random())
    yield f(1.0)
    seed = 2
    yield f(1.0)
    yield f(1.0)


@row()
def a_generator_without_a_seed_made_inside(compiled):
    f = compiled(lambda x: x * random.Random().random())
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def the_operating_system_rolls_the_dice(compiled):
    rng = random.SystemRandom()
    f = compiled(lambda x: x * rng.random())
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def the_operating_system_is_asked_inside(compiled):
    f = compiled(lambda x: x * random.SystemRandom().random())
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def secrets_below(compiled):
    f = compiled(lambda x: x * secrets.randbelow(10**12))
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def bytes_of_the_operating_system(compiled):
    f = compiled(lambda x: x * int.from_bytes(os.urandom(6), "big"))
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def a_uuid(compiled):
    f = compiled(lambda x: x * (uuid.uuid4().int >> 80))
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def numpy_as_of_old(compiled):
    f = compiled(lambda x: x * float(np.random.rand()))
    yield [f(1.0) for _ in range(3)]


@row()
def numpy_as_of_old_with_a_state_of_its_own(compiled):
    rng = np.random.RandomState(3)
    f = compiled(lambda x: x * float(rng.randn()))
    yield [f(1.0) for _ in range(3)]


@row()
def a_generator_of_numpy_outside(compiled):
    rng = np.random.default_rng(3)
    f = compiled(lambda x: x * rng.normal())
    yield [f(1.0) for _ in range(3)]


@row()
def a_generator_of_numpy_in_an_attribute(compiled):
    class Dropout:
        def __init__(self):
            self.rng = np.random.default_rng(3)

        def __call__(self, x):
            return x * float(self.rng.random() > 0.5)

    drop = Dropout()
    f = compiled(lambda x: drop(x))
    yield [f(1.0) for _ in range(6)]


@row()
def a_generator_of_numpy_made_inside(compiled):
    f = compiled(lambda x: x * np.random.default_rng().normal())
    yield how_many(f(1.0) for _ in range(3)) == 3


@row()
def a_generator_of_numpy_with_a_seed_made_inside(compiled):
    f = compiled(lambda x, seed: x * np.random.default_rng(seed).normal())
    yield [f(1.0, seed) for seed in (1, 2, 1)]


@row()
def a_bit_generator_of_numpy(compiled):
    bits = np.random.PCG64(5)
    f = compiled(lambda x: x * float(bits.random_raw() % 1000))
    yield [f(1.0) for _ in range(3)]


@row()
def a_child_of_a_seed_sequence(compiled):
    seeds = np.random.SeedSequence(5)
    f = compiled(lambda x: x * np.random.default_rng(seeds.spawn(1)[0]).normal())
    yield [f(1.0) for _ in range(3)]


@row()
def seeding_inside(compiled):
    @compiled
    def f(x):
        random.seed(0)
        return x * random.random()

    yield [f(1.0) for _ in range(3)]
    yield random.random()


@row()
def the_state_is_put_back_inside(compiled):
    @compiled
    def f(x):
        before = random.getstate()
        y = x * random.random()
        random.setstate(before)
        return y

    yield f(1.0)
    random.seed(99)
    yield f(1.0)


@row()
def a_shuffle_of_ones_own_order(compiled):
    order = [0, 1, 2, 3]

    @compiled
    def f(xs):
        random.shuffle(order)
        return sum(xs[i] * k for k, i in enumerate(order))

    yield [f([1.0, 2.0, 3.0, 4.0]) for _ in range(3)]


@row()
def a_sample_decides_the_batch(compiled):
    data = [float(k) for k in range(100)]
    f = compiled(lambda w: sum(w * x for x in random.sample(data, 3)))
    yield [f(1.0) for _ in range(3)]


@row()
def a_linear_congruential_generator_of_ones_own(compiled):
    class Dice:
        state = 42

        def throw(self):
            self.state = (1103515245 * self.state + 12345) % 2**31
            return self.state / 2**31

    dice = Dice()
    f = compiled(lambda x: x * dice.throw())
    yield [f(1.0) for _ in range(4)]


@row()
def an_iterator_of_draws(compiled):
    rng = random.Random(3)
    draws = iter(rng.random, 2.0)
    f = compiled(lambda x: x * next(draws))
    yield [f(1.0) for _ in range(3)]


@row()
def the_hash_of_an_object(compiled):
    class Key:
        pass

    f = compiled(lambda x: x * (hash(Key()) % 2 + 2) / (hash(Key()) % 2 + 2))
    yield f(1.0) > 0.0


@row(SAME)
def a_stateless_hash_of_the_step(compiled):
    def dice(step):
        return hashlib.sha256(str(step).encode()).digest()[0] / 256.0

    f = compiled(lambda x, step: x * dice(step))
    yield [f(1.0, step) for step in range(4)]


@row()
def a_subclass_of_random(compiled):
    class Biased(random.Random):
        bias = 0.0

        def random(self):
            return self.bias

    rng = Biased(1)
    f = compiled(lambda x: x * rng.random())
    yield f(1.0)
    rng.bias = 9.0
    yield f(1.0)


@row()
def a_gauss_pair_is_half_used(compiled):
    rng = random.Random(1)

    @compiled
    def f(x):
        return x * (rng.gauss(0.0, 1.0) + rng.gauss(0.0, 1.0))

    rng.gauss(0.0, 1.0)
    yield [f(1.0) for _ in range(3)]
