/* Rows in lanes, part of batch.c: for REAL a double, and once more for REAL a float. */

/* Bring rows in, one lane each; lanes behind the last row repeat it. */
static void ROWS(fill_lanes)(const Job *job, REAL *block, long row, long rows)
{
    const long lanes = job->lanes;
    REAL **at = (REAL **)job->at;
    for (Py_ssize_t k = 0; k < job->columns.count; k++) {
        const Column *c = &job->columns.at[k];
        for (long j = 0; j < c->width; j++) {
            REAL *to = block + (c->slot + j) * lanes;
            const char *p = place(c, j, row);
            const int direct = is_direct(job, c, j, rows);
            at[c->slot + j] = direct ? (REAL *)p : to;
            if (direct)
                continue;
            if (c->by_row == sizeof(REAL))
                memcpy(to, p, rows * sizeof(REAL));
            else
                for (long e = 0; e < rows; e++)
                    to[e] = *(const REAL *)(p + e * c->by_row);
            for (long e = rows; e < lanes; e++)
                to[e] = to[rows - 1];
        }
    }
    for (Py_ssize_t k = 0; k < job->outputs.count; k++) {
        const Column *c = &job->outputs.at[k];
        for (long j = 0; j < c->width; j++)
            if (job->direct[c->slot + j] == 1)
                at[c->slot + j] = rows == lanes ? (REAL *)place(c, j, row)
                                                : block + (c->slot + j) * lanes;
    }
}

static void ROWS(read_lanes)(const Job *job, const REAL *block, long row, long rows)
{
    const long lanes = job->lanes;
    for (Py_ssize_t k = 0; k < job->outputs.count; k++) {
        const Column *c = &job->outputs.at[k];
        for (long j = 0; j < c->width; j++) {
            const REAL *from = block + (c->slot + j) * lanes;
            char *p = place(c, j, row);
            if (is_direct(job, c, j, rows))
                continue;
            if (c->by_row == sizeof(REAL))
                memcpy(p, from, rows * sizeof(REAL));
            else
                for (long e = 0; e < rows; e++)
                    *(REAL *)(p + e * c->by_row) = from[e];
        }
    }
    for (long k = 0; k < job->sums.count; k++) {
        /* eight running totals, added up at last: the same on every instruction set */
        const REAL *x = block + job->sums.slots[k] * lanes;
        double part[8] = {0};
        long e = 0;
        for (; e + 8 <= rows; e += 8)
            for (int j = 0; j < 8; j++)
                part[j] += x[e + j];
        for (; e < rows; e++)
            part[e % 8] += x[e];
        job->sums.numbers[k] += ((part[0] + part[1]) + (part[2] + part[3]))
                                + ((part[4] + part[5]) + (part[6] + part[7]));
    }
}

static int ROWS(rows_are_finite)(const Machine *machine, const Job *job)
{
    REAL *const *at = (REAL **)job->at;
    for (long k = 0; k < machine->finite_count; k++)
        for (int64_t s = machine->finite[2 * k]; s < machine->finite[2 * k + 1]; s++)
            if (!machine->isa->ALL_FINITE(job->lanes, at[s]))
                return 0;
    return 1;
}

/* 0 if all went well, -1 with a fault, or 1 with a guard that failed and its row. Rows behind one that
   is not finite still have their guards looked at: the exact program, which runs next, has none. */
static int ROWS(run_job)(const Machine *machine, const Job *job, const double *values, REAL *block,
                         REAL *scratch, Fault *fault, long *guard, long *row)
{
    const long lanes = job->lanes;
    REAL **at = (REAL **)job->at;
    int all_finite = 1;
    for (long s = 0; s < machine->plan.size; s++)
        for (long e = 0; e < lanes; e++)
            block[s * lanes + e] = (REAL)values[s];
    for (long s = 0; s < machine->plan.size; s++)
        at[s] = block + s * lanes;
    for (*row = job->start; *row < job->stop; *row += lanes) {
        const long rows = job->stop - *row < lanes ? job->stop - *row : lanes;
        ROWS(fill_lanes)(job, block, *row, rows);
        if (machine->isa->RUN_LANES(&machine->plan, job->words->words, at, block, lanes, scratch,
                                    fault) < 0)
            return -1;
        for (long e = 0; e < rows && job->guards.count; e++)
            for (*guard = 0; *guard < job->guards.count; ++*guard) {
                const REAL found = block[job->guards.slots[*guard] * lanes + e];
                if (!is_same(found, job->guards.numbers[*guard])) {
                    *row += e;
                    return 1;
                }
            }
        all_finite = all_finite && ROWS(rows_are_finite)(machine, job);
        if (all_finite)
            ROWS(read_lanes)(job, block, *row, rows);
    }
    *guard = NOT_FINITE;
    return !all_finite;
}

#undef REAL
#undef ROWS
#undef RUN_LANES
#undef ALL_FINITE
