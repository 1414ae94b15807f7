/* micrograd's demo by hand: the loss of a 2-16-16-1 network on the moons, and its whole gradient.
 *
 * Parameters come in the common order: neuron by neuron, the weights and then the bias. */

enum { IN = 2, HIDDEN = 16 };

typedef struct {
    double first[HIDDEN][IN + 1], second[HIDDEN][HIDDEN + 1], third[HIDDEN + 1];
} Network;

double demo_step(const double *restrict parameters, const double *restrict points,
                 const double *restrict labels, long count, double alpha, double *restrict gradient)
{
    const Network *w = (const Network *)parameters;
    Network *g = (Network *)gradient;
    const long size = sizeof(Network) / sizeof(double);
    double loss = 0.0, penalty = 0.0;

    for (long k = 0; k < size; k++) {
        penalty += parameters[k] * parameters[k];
        gradient[k] = 2.0 * alpha * parameters[k];
    }
    for (long n = 0; n < count; n++) {
        const double *x = points + IN * n;
        double h1[HIDDEN], h2[HIDDEN], d1[HIDDEN] = {0.0};

        for (int j = 0; j < HIDDEN; j++) {
            double total = w->first[j][IN];
            for (int i = 0; i < IN; i++)
                total += w->first[j][i] * x[i];
            h1[j] = total > 0.0 ? total : 0.0;
        }
        for (int j = 0; j < HIDDEN; j++) {
            double total = w->second[j][HIDDEN];
            for (int i = 0; i < HIDDEN; i++)
                total += w->second[j][i] * h1[i];
            h2[j] = total > 0.0 ? total : 0.0;
        }
        double score = w->third[HIDDEN];
        for (int i = 0; i < HIDDEN; i++)
            score += w->third[i] * h2[i];
        double margin = 1.0 - labels[n] * score;
        if (!(margin > 0.0))
            continue;
        loss += margin;

        double slope = -labels[n] / count;
        g->third[HIDDEN] += slope;
        for (int i = 0; i < HIDDEN; i++)
            g->third[i] += slope * h2[i];
        for (int j = 0; j < HIDDEN; j++) {
            if (!(h2[j] > 0.0))
                continue;
            double d = slope * w->third[j];
            g->second[j][HIDDEN] += d;
            for (int i = 0; i < HIDDEN; i++) {
                g->second[j][i] += d * h1[i];
                d1[i] += d * w->second[j][i];
            }
        }
        for (int j = 0; j < HIDDEN; j++) {
            if (!(h1[j] > 0.0))
                continue;
            g->first[j][IN] += d1[j];
            for (int i = 0; i < IN; i++)
                g->first[j][i] += d1[j] * x[i];
        }
    }
    return loss / count + alpha * penalty;
}
