"""Chapter 9: two more operations, their numbers and their slopes."""

from engine import Value


def numbers():
    """The values, where they are known by heart: log 2, and 1/2 and 3/4 for the sigmoid."""
    return {
        "log(2)": Value(2.0).log().data,
        "sigmoid(0)": Value(0.0).sigmoid().data,
        "sigmoid(log 3)": Value(1.0986122886681098).sigmoid().data,
    }


def log_slope():
    """3 * log(x) at 2; log(x) + x, where the 1 of x must survive; and what is below its child."""
    x, y, z = Value(2.0), Value(2.0), Value(2.0)
    (x.log() * 3).backward()
    (y.log() + y * 1).backward()
    (z * 2).log().backward()
    return {
        "slope of 3*log(x) at 2": x.grad,
        "slope of log(x) + x at 2": y.grad,
        "slope of log(2*x) at 2": z.grad,
    }


def sigmoid_slope():
    """8 * sigmoid(x) where the sigmoid is 3/4, and sigmoid(x) + x there; sigmoid(4*x) at 0."""
    x, y, z = Value(1.0986122886681098), Value(1.0986122886681098), Value(0.0)
    (x.sigmoid() * 8).backward()
    (y.sigmoid() + y * 1).backward()
    (z * 4).sigmoid().backward()
    return {
        "slope of 8*sigmoid(x) at log 3": x.grad,
        "slope of sigmoid(x) + x at log 3": y.grad,
        "slope of sigmoid(4*x) at 0": z.grad,
    }


EXPERIMENTS = [numbers, log_slope, sigmoid_slope]
RIGHT = {  # worked out by hand
    "numbers": {"log(2)": 0.6931471805599453, "sigmoid(0)": 0.5, "sigmoid(log 3)": 0.75},
    "log_slope": {
        "slope of 3*log(x) at 2": 1.5,
        "slope of log(x) + x at 2": 1.5,
        "slope of log(2*x) at 2": 0.5,
    },
    "sigmoid_slope": {
        "slope of 8*sigmoid(x) at log 3": 1.5,
        "slope of sigmoid(x) + x at log 3": 1.1875,
        "slope of sigmoid(4*x) at 0": 1.0,
    },
}
MISTAKES = {
    "a_plain_number": {"numbers": {"error": "AttributeError"}},
    "no_tuple": {"numbers": {"error": "TypeError"}},
    "base_two": {"numbers": {"log(2)": 1.0}},
    "base_ten": {"numbers": {"log(2)": 0.3010299956639812}},
    "sigmoid_turned": {"numbers": {"sigmoid(0)": 0.5, "sigmoid(log 3)": 0.25}},
    "not_attached": {"log_slope": {"slope of 3*log(x) at 2": 0.0}},
    "sigmoid_not_attached": {"sigmoid_slope": {"slope of 8*sigmoid(x) at log 3": 0.0}},
    "no_child": {"log_slope": {"slope of 3*log(x) at 2": 1.5, "slope of log(2*x) at 2": 0.0}},
    "sigmoid_no_child": {
        "sigmoid_slope": {
            "slope of 8*sigmoid(x) at log 3": 1.5,
            "slope of sigmoid(4*x) at 0": 0.0,
        },
    },
    "over_the_result": {"log_slope": {"slope of 3*log(x) at 2": 4.328085122666891}},
    "no_out_grad": {"log_slope": {"slope of 3*log(x) at 2": 0.5}},
    "sigmoid_no_out_grad": {"sigmoid_slope": {"slope of 8*sigmoid(x) at log 3": 0.1875}},
    "sigmoid_itself": {"sigmoid_slope": {"slope of 8*sigmoid(x) at log 3": 6.0}},
    "sigmoid_as_tanh": {"sigmoid_slope": {"slope of 8*sigmoid(x) at log 3": 3.5}},
    "sigmoid_of_x": {"sigmoid_slope": {"slope of 8*sigmoid(x) at log 3": -0.8666933769014658}},
    "overwrites": {"log_slope": {"slope of 3*log(x) at 2": 1.5, "slope of log(x) + x at 2": 0.5}},
    "sigmoid_overwrites": {"sigmoid_slope": {"slope of sigmoid(x) + x at log 3": 0.1875}},
}
