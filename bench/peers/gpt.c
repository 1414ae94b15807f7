/* The small GPT by hand: one document's loss, its whole gradient, and a step of Adam.
 *
 * One layer, 16 wide, 4 heads; parameters are one struct in the common order. */

#include <math.h>
#include <string.h>

enum { WIDTH = 16, HEADS = 4, SIZE = WIDTH / HEADS, BLOCK = 16, VOCABULARY = 27, UP = 4 * WIDTH };

typedef struct {
    double tokens[VOCABULARY][WIDTH], positions[BLOCK][WIDTH];
    double query[WIDTH][WIDTH], key[WIDTH][WIDTH], value[WIDTH][WIDTH], out[WIDTH][WIDTH];
    double up[UP][WIDTH], down[WIDTH][UP], head[VOCABULARY][WIDTH];
} Gpt;

/* y = W x, W by rows */
static inline void linear(int rows, int columns, const double *restrict w, const double *restrict x,
                          double *restrict y)
{
    for (int j = 0; j < rows; j++) {
        double total = 0.0;
        for (int i = 0; i < columns; i++)
            total += w[j * columns + i] * x[i];
        y[j] = total;
    }
}

/* Adds to the gradients of W and x what dy asks for. */
static inline void linear_back(int rows, int columns, const double *restrict w,
                               const double *restrict x, const double *restrict dy,
                               double *restrict dw, double *restrict dx)
{
    for (int j = 0; j < rows; j++)
        for (int i = 0; i < columns; i++) {
            dw[j * columns + i] += dy[j] * x[i];
            dx[i] += dy[j] * w[j * columns + i];
        }
}

static inline double rmsnorm(const double *x, double *y)
{
    double total = 0.0;
    for (int i = 0; i < WIDTH; i++)
        total += x[i] * x[i];
    double scale = 1.0 / sqrt(total / WIDTH + 1e-5);
    for (int i = 0; i < WIDTH; i++)
        y[i] = x[i] * scale;
    return scale;
}

static inline void rmsnorm_back(const double *x, double scale, const double *dy, double *dx)
{
    double total = 0.0;
    for (int i = 0; i < WIDTH; i++)
        total += dy[i] * x[i];
    double pull = total * scale * scale * scale / WIDTH;
    for (int i = 0; i < WIDTH; i++)
        dx[i] += dy[i] * scale - x[i] * pull;
}

static inline void softmax(int count, double *x)
{
    double top = x[0], total = 0.0;
    for (int i = 1; i < count; i++)
        if (x[i] > top)
            top = x[i];
    for (int i = 0; i < count; i++)
        total += x[i] = exp(x[i] - top);
    for (int i = 0; i < count; i++)
        x[i] /= total;
}

double gpt_step(const double *restrict parameters, const int *restrict tokens, long count,
                double *restrict gradient)
{
    const Gpt *w = (const Gpt *)parameters;
    Gpt *g = (Gpt *)gradient;
    double x[BLOCK][WIDTH], x0[BLOCK][WIDTH], n0[BLOCK][WIDTH], q[BLOCK][WIDTH], k[BLOCK][WIDTH],
        v[BLOCK][WIDTH], weights[BLOCK][HEADS][BLOCK], attended[BLOCK][WIDTH], x1[BLOCK][WIDTH],
        n1[BLOCK][WIDTH], hidden[BLOCK][UP], x2[BLOCK][WIDTH], chances[BLOCK][VOCABULARY];
    double s[BLOCK], s0[BLOCK], s1[BLOCK];
    double loss = 0.0;
    const double shrink = 1.0 / sqrt((double)SIZE);

    for (long t = 0; t < count; t++) {
        for (int i = 0; i < WIDTH; i++)
            x[t][i] = w->tokens[tokens[t]][i] + w->positions[t][i];
        s[t] = rmsnorm(x[t], x0[t]);
        s0[t] = rmsnorm(x0[t], n0[t]);
        linear(WIDTH, WIDTH, w->query[0], n0[t], q[t]);
        linear(WIDTH, WIDTH, w->key[0], n0[t], k[t]);
        linear(WIDTH, WIDTH, w->value[0], n0[t], v[t]);
        for (int h = 0; h < HEADS; h++) {
            double *score = weights[t][h];
            for (long u = 0; u <= t; u++) {
                double total = 0.0;
                for (int i = h * SIZE; i < (h + 1) * SIZE; i++)
                    total += q[t][i] * k[u][i];
                score[u] = total * shrink;
            }
            softmax(t + 1, score);
            for (int i = h * SIZE; i < (h + 1) * SIZE; i++) {
                double total = 0.0;
                for (long u = 0; u <= t; u++)
                    total += score[u] * v[u][i];
                attended[t][i] = total;
            }
        }
        linear(WIDTH, WIDTH, w->out[0], attended[t], x1[t]);
        for (int i = 0; i < WIDTH; i++)
            x1[t][i] += x0[t][i];
        s1[t] = rmsnorm(x1[t], n1[t]);
        linear(UP, WIDTH, w->up[0], n1[t], hidden[t]);
        for (int i = 0; i < UP; i++)
            hidden[t][i] = hidden[t][i] > 0.0 ? hidden[t][i] : 0.0;
        linear(WIDTH, UP, w->down[0], hidden[t], x2[t]);
        for (int i = 0; i < WIDTH; i++)
            x2[t][i] += x1[t][i];
        linear(VOCABULARY, WIDTH, w->head[0], x2[t], chances[t]);
        softmax(VOCABULARY, chances[t]);
        loss -= log(chances[t][tokens[t + 1]]);
    }

    double dq[BLOCK][WIDTH] = {0}, dk[BLOCK][WIDTH] = {0}, dv[BLOCK][WIDTH] = {0},
           dx0[BLOCK][WIDTH] = {0};
    memset(g, 0, sizeof *g);
    for (long t = count - 1; t >= 0; t--) {
        double dlogits[VOCABULARY], dx1[WIDTH] = {0}, dhidden[UP] = {0}, dn1[WIDTH] = {0},
                                    dattended[WIDTH] = {0};
        for (int i = 0; i < VOCABULARY; i++)
            dlogits[i] = (chances[t][i] - (i == tokens[t + 1])) / count;
        linear_back(VOCABULARY, WIDTH, w->head[0], x2[t], dlogits, g->head[0], dx1);
        linear_back(WIDTH, UP, w->down[0], hidden[t], dx1, g->down[0], dhidden);
        for (int i = 0; i < UP; i++)
            dhidden[i] = hidden[t][i] > 0.0 ? dhidden[i] : 0.0;
        linear_back(UP, WIDTH, w->up[0], n1[t], dhidden, g->up[0], dn1);
        rmsnorm_back(x1[t], s1[t], dn1, dx1);
        for (int i = 0; i < WIDTH; i++)
            dx0[t][i] += dx1[i];
        linear_back(WIDTH, WIDTH, w->out[0], attended[t], dx1, g->out[0], dattended);
        for (int h = 0; h < HEADS; h++) {
            const double *weight = weights[t][h];
            double dweight[BLOCK], mean = 0.0;
            for (long u = 0; u <= t; u++) {
                double total = 0.0;
                for (int i = h * SIZE; i < (h + 1) * SIZE; i++) {
                    total += dattended[i] * v[u][i];
                    dv[u][i] += dattended[i] * weight[u];
                }
                dweight[u] = total;
                mean += weight[u] * total;
            }
            for (long u = 0; u <= t; u++) {
                double dscore = weight[u] * (dweight[u] - mean) * shrink;
                for (int i = h * SIZE; i < (h + 1) * SIZE; i++) {
                    dq[t][i] += dscore * k[u][i];
                    dk[u][i] += dscore * q[t][i];
                }
            }
        }
    }
    /* Only now has every later token said what it wants of this one's key and value. */
    for (long t = 0; t < count; t++) {
        double dn0[WIDTH] = {0}, dx[WIDTH] = {0};
        linear_back(WIDTH, WIDTH, w->query[0], n0[t], dq[t], g->query[0], dn0);
        linear_back(WIDTH, WIDTH, w->key[0], n0[t], dk[t], g->key[0], dn0);
        linear_back(WIDTH, WIDTH, w->value[0], n0[t], dv[t], g->value[0], dn0);
        rmsnorm_back(x0[t], s0[t], dn0, dx0[t]);
        rmsnorm_back(x[t], s[t], dx0[t], dx);
        for (int i = 0; i < WIDTH; i++) {
            g->tokens[tokens[t]][i] += dx[i];
            g->positions[t][i] += dx[i];
        }
    }
    return loss / count;
}

static void adam(double *restrict x, const double *restrict g, double *restrict m,
                 double *restrict v, long count, double lr, double beta1, double beta2, double eps,
                 long steps)
{
    const double rate = lr / (1.0 - pow(beta1, steps)), scale = 1.0 / sqrt(1.0 - pow(beta2, steps));
    for (long i = 0; i < count; i++) {
        m[i] = beta1 * m[i] + (1.0 - beta1) * g[i];
        v[i] = beta2 * v[i] + (1.0 - beta2) * g[i] * g[i];
        x[i] -= rate * m[i] / (sqrt(v[i]) * scale + eps);
    }
}

double gpt_train(double *x, const int *tokens, long count, double *g, double *m, double *v, double lr,
                 double beta1, double beta2, double eps, long steps)
{
    double loss = gpt_step(x, tokens, count, g);
    adam(x, g, m, v, sizeof(Gpt) / sizeof(double), lr, beta1, beta2, eps, steps);
    return loss;
}
