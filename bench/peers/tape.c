/*
 * A graph by hand, as one writes it without knowing what it is: a tape of rows (op, a, b), a loop
 * forward and a loop backward. The inputs are parameters, which have gradients, then constants.
 */

#include <math.h>
#include <string.h>

/* In the order of hidden.CODES; the last three have a constant on the right. */
enum { ADD, SUB, MUL, TANH, SIN, COS, SCALE, SHIFT, DIV, EXP, LOG, RELU, NEG, PLUS, TIMES, POW };

double tape_step(const double *restrict inputs, long n_inputs, const int *restrict rows, long n_rows,
                 const int *restrict ends, long n_ends, double *restrict x, double *restrict d,
                 double *restrict gradient, long n_parameters)
{
    double total = 0.0;

    memcpy(x, inputs, n_inputs * sizeof *x);
    for (long k = 0; k < n_rows; k++) {
        double a = x[rows[3 * k + 1]], b = x[rows[3 * k + 2]], y = 0.0;
        switch (rows[3 * k]) {
        case ADD: y = a + b; break;
        case SUB: y = a - b; break;
        case MUL: y = a * b; break;
        case TANH: y = tanh(a); break;
        case SIN: y = sin(a); break;
        case COS: y = cos(a); break;
        case SCALE: y = a * 0.7; break;
        case SHIFT: y = a + 0.3; break;
        case DIV: y = a / b; break;
        case EXP: y = exp(a); break;
        case LOG: y = log(a); break;
        case RELU: y = a > 0.0 ? a : 0.0; break;
        case NEG: y = -a; break;
        case PLUS: y = a + b; break;
        case TIMES: y = a * b; break;
        case POW: y = pow(a, b); break;
        }
        x[n_inputs + k] = y;
    }
    memset(d, 0, (n_inputs + n_rows) * sizeof *d);
    for (long k = 0; k < n_ends; k++) {
        total += x[ends[k]];
        d[ends[k]] += 1.0 / n_ends;
    }
    for (long k = n_rows - 1; k >= 0; k--) {
        int a = rows[3 * k + 1], b = rows[3 * k + 2];
        double g = d[n_inputs + k], y = x[n_inputs + k];
        switch (rows[3 * k]) {
        case ADD: d[a] += g; d[b] += g; break;
        case SUB: d[a] += g; d[b] -= g; break;
        case MUL: d[a] += g * x[b]; d[b] += g * x[a]; break;
        case TANH: d[a] += g * (1.0 - y * y); break;
        case SIN: d[a] += g * cos(x[a]); break;
        case COS: d[a] -= g * sin(x[a]); break;
        case SCALE: d[a] += g * 0.7; break;
        case SHIFT: d[a] += g; break;
        case DIV: d[a] += g / x[b]; d[b] -= g * y / x[b]; break;
        case EXP: d[a] += g * y; break;
        case LOG: d[a] += g / x[a]; break;
        case RELU: d[a] += y > 0.0 ? g : 0.0; break;
        case NEG: d[a] -= g; break;
        case PLUS: d[a] += g; break;
        case TIMES: d[a] += g * x[b]; break;
        case POW: d[a] += g * x[b] * pow(x[a], x[b] - 1.0); break;
        }
    }
    memcpy(gradient, d, n_parameters * sizeof *d);
    return total / n_ends;
}
