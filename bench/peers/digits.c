/* A step of SGD on a network with one hidden layer, softmax and cross entropy, by hand: plain loops
   over a batch. The weights lie by input (w1[i][j] is from input i to neuron j), so that innermost
   loops go through memory one by one. No two arrays overlap, which the compiler is told. */

#include <math.h>
#include <string.h>

enum { INPUTS = 784, WIDTH = 128, CLASSES = 10 };

static void move(double *restrict weights, const double *restrict slopes, long count, double rate)
{
    for (long k = 0; k < count; k++)
        weights[k] -= rate * slopes[k];
}

/* The loss before the step. `h` and `d` have room for the hidden layer of the batch; the gradients
   g1, c1, g2, c2 stay for who wants to read them. */
double digits_step(long batch, double rate, const double *restrict x, const int *restrict labels,
                   double *restrict w1, double *restrict b1, double *restrict w2,
                   double *restrict b2, double *restrict g1, double *restrict c1,
                   double *restrict g2, double *restrict c2, double *restrict h,
                   double *restrict d)
{
    double loss = 0.0;
    for (long n = 0; n < batch; n++)
        memcpy(h + n * WIDTH, b1, WIDTH * sizeof(double));
    for (long i = 0; i < INPUTS; i++)
        for (long n = 0; n < batch; n++)
            for (long j = 0; j < WIDTH; j++)
                h[n * WIDTH + j] += x[n * INPUTS + i] * w1[i * WIDTH + j];
    for (long k = 0; k < batch * WIDTH; k++)
        h[k] = h[k] > 0.0 ? h[k] : 0.0;

    memset(c1, 0, WIDTH * sizeof(double));
    memset(g2, 0, WIDTH * CLASSES * sizeof(double));
    memset(c2, 0, CLASSES * sizeof(double));
    for (long n = 0; n < batch; n++) {
        double z[CLASSES], most = -INFINITY, sum = 0.0;
        memcpy(z, b2, sizeof z);
        for (long j = 0; j < WIDTH; j++)
            for (long c = 0; c < CLASSES; c++)
                z[c] += h[n * WIDTH + j] * w2[j * CLASSES + c];
        for (long c = 0; c < CLASSES; c++)
            most = z[c] > most ? z[c] : most;
        for (long c = 0; c < CLASSES; c++)
            sum += z[c] = exp(z[c] - most);
        loss -= log(z[labels[n]] / sum) / (double)batch;
        for (long c = 0; c < CLASSES; c++) {
            z[c] = (z[c] / sum - (c == labels[n])) / (double)batch;
            c2[c] += z[c];
        }
        for (long j = 0; j < WIDTH; j++) {
            double slope = 0.0;
            for (long c = 0; c < CLASSES; c++) {
                g2[j * CLASSES + c] += h[n * WIDTH + j] * z[c];
                slope += w2[j * CLASSES + c] * z[c];
            }
            d[n * WIDTH + j] = h[n * WIDTH + j] > 0.0 ? slope : 0.0;
            c1[j] += d[n * WIDTH + j];
        }
    }
    for (long i = 0; i < INPUTS; i++) {
        memset(g1 + i * WIDTH, 0, WIDTH * sizeof(double));
        for (long n = 0; n < batch; n++)
            for (long j = 0; j < WIDTH; j++)
                g1[i * WIDTH + j] += x[n * INPUTS + i] * d[n * WIDTH + j];
    }
    move(w1, g1, INPUTS * WIDTH, rate);
    move(b1, c1, WIDTH, rate);
    move(w2, g2, WIDTH * CLASSES, rate);
    move(b2, c2, CLASSES, rate);
    return loss;
}
