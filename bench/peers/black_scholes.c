/* Black-Scholes by hand: call prices and their five first derivatives, libm in a loop. No two arrays
   overlap, which the compiler is told. */

#include <math.h>

void black_scholes(long count, const double *restrict spot, const double *restrict strike,
                   const double *restrict years, const double *restrict rate,
                   const double *restrict volatility, double *restrict price,
                   double *restrict by_spot, double *restrict by_strike, double *restrict by_years,
                   double *restrict by_rate, double *restrict by_volatility)
{
    const double root_half = sqrt(0.5), density_top = 1.0 / sqrt(2.0 * acos(-1.0));
    for (long k = 0; k < count; k++) {
        double root = sqrt(years[k]), spread = volatility[k] * root;
        double drift = rate[k] + 0.5 * volatility[k] * volatility[k];
        double upper = (log(spot[k] / strike[k]) + drift * years[k]) / spread;
        double lower = upper - spread;
        double discount = exp(-rate[k] * years[k]), discounted = strike[k] * discount;
        double above = 0.5 * (1.0 + erf(upper * root_half));
        double below = 0.5 * (1.0 + erf(lower * root_half));
        double density = density_top * exp(-0.5 * upper * upper);

        price[k] = spot[k] * above - discounted * below;
        by_spot[k] = above;
        by_strike[k] = -discount * below;
        by_years[k] =
            spot[k] * density * volatility[k] / (2.0 * root) + rate[k] * discounted * below;
        by_rate[k] = years[k] * discounted * below;
        by_volatility[k] = spot[k] * density * root;
    }
}
