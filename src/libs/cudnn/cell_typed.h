/*
 * cell_typed.h: one step of a row of cells of a recurrent network, in numbers of type T with the functions SIGMOID and
 * TANH; NAMED(name) names a function. `gates` has what the input adds and gets the gates' values; `part` is what the
 * state before adds, `bias` what is always added; of a GRU both have it. h and c are replaced. Gates lie as cuDNN
 * counts them.
 */

void NAMED(cell_tanh)(int64_t n, T *restrict gates, const T *restrict part, const T *restrict bias, T *restrict h)
{
	for (int64_t k = 0; k < n; k++)
		gates[k] = h[k] = TANH(gates[k] + part[k] + bias[k]);
}

void NAMED(cell_lstm)(int64_t n, T *restrict gates, const T *restrict part, const T *restrict bias, T *restrict h,
		      T *restrict c)
{
	for (int64_t k = 0; k < n; k++) {
		T in = SIGMOID(gates[k] + part[k] + bias[k]);
		T keep = SIGMOID(gates[n + k] + part[n + k] + bias[n + k]);
		T new = TANH(gates[2 * n + k] + part[2 * n + k] + bias[2 * n + k]);
		T out = SIGMOID(gates[3 * n + k] + part[3 * n + k] + bias[3 * n + k]);

		gates[k] = in;
		gates[n + k] = keep;
		gates[2 * n + k] = new;
		gates[3 * n + k] = out;
		c[k] = keep * c[k] + in * new;
		h[k] = out * TANH(c[k]);
	}
}

void NAMED(cell_gru)(int64_t n, T *restrict gates, const T *restrict part, T *restrict h)
{
	for (int64_t k = 0; k < n; k++) {
		T reset = SIGMOID(gates[k] + part[k]), keep = SIGMOID(gates[n + k] + part[n + k]);
		T new = TANH(gates[2 * n + k] + reset * part[2 * n + k]);

		gates[k] = reset;
		gates[n + k] = keep;
		gates[2 * n + k] = new;
		h[k] = (1 - keep) * new + keep *h[k];
	}
}

#undef T
#undef NAMED
#undef SIGMOID
#undef TANH
