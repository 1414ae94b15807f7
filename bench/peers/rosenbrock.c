/* Rosenbrock's function of two numbers and its slopes, by hand. */

double rosenbrock(double x, double y, double *restrict slopes)
{
    const double beside = 1.0 - x, above = y - x * x;
    slopes[0] = -2.0 * beside - 400.0 * x * above;
    slopes[1] = 200.0 * above;
    return beside * beside + 100.0 * above * above;
}
