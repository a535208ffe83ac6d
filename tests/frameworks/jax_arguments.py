"""
Arguments for functions of JAX, for jax_public.py: tuples of arrays and of settings that suit many functions, and for those
that want something of their own a table by name. Arrays are numpy's and of a type; what is no array is a setting.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

KINDS = ["float32", "int32", "complex64", "bool"]
MORE_KINDS = ["bfloat16", "float16", "uint8"]

# What is no computation: settings of a process, types, and what only makes descriptions.
NO_FUNCTIONS = {
    "jax.numpy.set_printoptions",
    "jax.numpy.get_printoptions",
    "jax.numpy.printoptions",
    "jax.numpy.save",
    "jax.numpy.savez",
    "jax.numpy.load",
    "jax.numpy.fromfile",
    "jax.numpy.from_dlpack",
    "jax.numpy.iterable",
    "jax.numpy.result_type",
    "jax.numpy.promote_types",
    "jax.numpy.issubdtype",
    "jax.numpy.isdtype",
    "jax.numpy.can_cast",
    "jax.numpy.dtype",
    "jax.numpy.array_repr",
    "jax.numpy.array_str",
    "jax.numpy.broadcast_shapes",
    "jax.numpy.einsum_path",
    "jax.numpy.frompyfunc",
    "jax.numpy.get_dtype",
    "jax.lax.broadcast_shapes",
    "jax.lax.dtype",
    "jax.lax.padtype_to_pads",
    "jax.lax.conv_dimension_numbers",
    "jax.lax.conv_general_permutations",
    "jax.lax.conv_general_shape_tuple",
    "jax.lax.conv_shape_tuple",
    "jax.lax.conv_transpose_shape_tuple",
    "jax.lax.create_token",
    "jax.lax.after_all",
    "jax.lax.infeed",
    "jax.lax.outfeed",
    "jax.lax.register_linalg",
    "jax.numpy.dot_general",
    "jax.lax.naryop",
    "jax.lax.naryop_dtype_rule",
    "jax.lax.standard_naryop",
    "jax.lax.unop",
    "jax.lax.unop_dtype_rule",
    "jax.lax.itertools",
    "jax.lax.reshard",
    "jax.numpy.shape",
    "jax.numpy.size",
    "jax.numpy.ndim",
    "jax.numpy.isscalar",
    "jax.numpy.iscomplexobj",
    "jax.numpy.isrealobj",
}


class Call:
    def __init__(self, label, given, function):
        self.label, self.given, self.function = label, given, function


def filled(kind, *shape):
    """Numbers of a type, the same for the same shape."""
    r = np.random.default_rng(sum(shape) + 7 * len(shape))
    numbers = r.standard_normal(shape)
    if kind == "bool":
        return numbers > 0
    if kind == "complex64":
        return (numbers + 1j * r.standard_normal(shape)).astype(np.complex64)
    if kind == "uint8":
        return r.integers(0, 9, shape).astype(np.uint8)
    if kind == "int32":
        return r.integers(-4, 9, shape).astype(np.int32)
    return numbers.astype(jnp.dtype(kind))


def between(kind, *shape):
    """Between 0.1 and 0.9, where functions of bounded arguments are defined."""
    r = np.random.default_rng(len(shape))
    return (r.random(shape) * 0.8 + 0.1).astype(jnp.dtype(kind))


def positive(kind, n):
    """A positive definite matrix, well away from a singular one."""
    a = filled(kind, n, n).astype(np.complex128 if kind == "complex64" else np.float64)
    return (a @ a.conj().T + n * n * np.eye(n)).astype(jnp.dtype(kind))


def indices(*shape):
    return np.random.default_rng(3).integers(0, 4, shape).astype(np.int32)


def common(kind):
    """(label, arguments) that suit many functions."""
    f = functools.partial(filled, kind)
    v, m, s, t = f(12), f(4, 6), f(5, 5), f(2, 3, 4)
    tuples = {
        "v": (v,),
        "m": (m,),
        "s": (s,),
        "t": (t,),
        "v, w": (v, f(12)[::-1].copy()),
        "m, n": (m, f(4, 6)[::-1].copy()),
        "m, n'": (m, f(6, 4)),
        "s, r": (s, f(5, 5)[::-1].copy()),
        "s, v5": (s, f(5)),
        "s, m52": (s, f(5, 2)),
        "v, w, x": (v, v[::-1].copy(), np.roll(v, 3)),
        "v, w, x, y": (v, v[::-1].copy(), np.roll(v, 3), np.roll(v, 5)),
        "v, 2": (v, 2),
        "m, 0": (m, 0),
        "m, 1": (m, 1),
        "t, (0, 1)": (t, (0, 1)),
        "m, (0,)": (m, (0,)),
        "t, 0, 1": (t, 0, 1),
        "v, 2, 3": (v, 2, 3),
        "i": (indices(12),),
        "v, i": (v, indices(12)),
        "i, v": (indices(12), v),
        "i, j": (indices(12), indices(12)),
        "v, i, v": (v, indices(12), v),
        "[v, w]": ([v, v[::-1].copy()],),
        "[m, n]": ([m, m],),
        "[s, r, s]": ([s, s, s],),
        "b, v, w": (v > v.mean(), v, v[::-1].copy()),
        "b, v": (np.arange(12) % 3 == 0, v),
        "m, (24,)": (m, (24,)),
        "m, (2, 4, 6)": (m, (2, 4, 6)),
        "(2, 3)": ((2, 3),),
        "5": (5,),
        "5, dtype": (5, jnp.dtype(kind)),
        "(2, 3), dtype": ((2, 3), jnp.dtype(kind)),
        "(2, 3), 1, dtype": ((2, 3), 1, jnp.dtype(kind)),
        "v, dtype": (v, jnp.dtype("float32")),
        "12, v": (12, v),
        "m, 0.5": (m, 0.5),
        "v, (2,)": (v, (2,)),
        "v3, w3": (f(3), f(3)[::-1].copy()),
        "m, v6": (m, f(6)),
        "t, n45": (t, f(4, 5)),
        "m44, v4": (f(4, 4), f(4)),
        "dtype, (2, 3), 0": (jnp.dtype(kind), (2, 3), 0),
        "v, w, 1": (v, v[::-1].copy(), 1),
        "v4, 2.0": (f(4), 2.0),
        "0, 5": (0.0, 5.0),
        "0, 3, 7": (0.0, 3.0, 7),
        "v, 1, 2, 0": (v, 1, 2, 0),
    }
    if kind not in ("bool", "uint8", "int32"):
        u = between(kind, 12) if kind != "complex64" else between("float32", 12)
        bounded = {
            "u": (u,),
            "u, u": (u, u[::-1].copy()),
            "u, u, u": (u, u[::-1].copy(), u),
            "u, u, u, u": (u, u, u[::-1].copy(), u),
            "p": (positive(kind, 5),),
            "p, s": (positive(kind, 5), s),
            "p, v5": (positive(kind, 5), f(5)),
            "q": (np.stack([positive(kind, 4)] * 2),),
            "i, u": (indices(12), u),
            "i, u, u": (indices(12), u, u[::-1].copy()),
            "i, i+4, u": (indices(12), indices(12) + 4, u),
            "3, u": (3, u),
        }
        tuples = {"u": bounded.pop("u"), "u, u": bounded.pop("u, u"), "p": bounded.pop("p"), **tuples, **bounded}
        if kind == "float32":  # the first arguments are those that most functions are defined for
            tuples = {"v": (v,), "u": (u,), **tuples}
    return tuples


@functools.lru_cache(maxsize=None)
def commons(kind):
    return list(common(kind).items())


def calls(name, function, kind):
    """Calls to try, in this order. A function with arguments of its own gets those alone."""
    own = OWN.get(name)
    if own:
        try:
            made = own(functools.partial(filled, kind), kind)
        except Exception:
            return
        for label, (given, f) in enumerate(made):
            yield Call(f"own {label}", given, f or function)
        return
    for label, given in commons(kind):
        yield Call(f"({label})", given, function)


# Results that are not determined: the sign of a vector, or its turn in the complex plane. What is compared instead.
def singular(leaves):
    return [np.abs(a) for a in leaves]


def singular_values(leaves):
    return leaves[1:2] if len(leaves) == 3 else leaves


def values_alone(leaves):
    return leaves[:1]


def sorted_values(leaves):
    return [np.sort_complex(leaves[0])]


SETTLED = {
    "jax.numpy.linalg.svd": singular_values,
    "jax.lax.linalg.svd": singular_values,
    "jax.lax.linalg.symmetric_product": lambda leaves: [np.tril(a) for a in leaves],  # the other triangle is not determined
    "jax.scipy.linalg.svd": singular_values,
    "jax.numpy.linalg.qr": singular,
    "jax.lax.linalg.qr": singular,
    "jax.scipy.linalg.qr": singular,
    "jax.numpy.linalg.eigh": values_alone,
    "jax.scipy.linalg.eigh": values_alone,
    "jax.lax.linalg.eigh": singular,
    "jax.numpy.linalg.eig": sorted_values,
    "jax.numpy.linalg.eigvals": sorted_values,
    "jax.lax.linalg.eig": sorted_values,
    "jax.scipy.linalg.schur": singular,
    "jax.lax.linalg.schur": singular,
    "jax.scipy.linalg.rsf2csf": singular,
    "jax.lax.linalg.hessenberg": singular,
    "jax.scipy.linalg.hessenberg": singular,
    "jax.scipy.linalg.eigh_tridiagonal": values_alone,
    "jax.numpy.empty": lambda leaves: [np.zeros_like(a) for a in leaves],
    "jax.numpy.empty_like": lambda leaves: [np.zeros_like(a) for a in leaves],
    "jax.lax.empty": lambda leaves: [np.zeros_like(a) for a in leaves],
}


def settled(name, leaves, gradient=False):
    settle = SETTLED.get(name)
    if gradient and settle is sorted_values:  # values have any order, a gradient has the matrix's
        settle = None
    return settle(leaves) if settle else leaves


def along(f):
    """A collective over an axis of a vmap."""
    return lambda x: jax.vmap(f, axis_name="i")(x)


KEY = np.array([1, 2], np.uint32)


def key(k):
    return jax.random.wrap_key_data(k, impl="threefry2x32")


def lax_gather(x, i):
    numbers = jax.lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    return jax.lax.gather(x, i[:, None], numbers, (1, 6))


def lax_scatter(which):
    numbers = jax.lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return lambda x, i, u: which(x, i[:, None], u, numbers)


def lax_scatter_apply(x, i):
    numbers = jax.lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    return jax.lax.scatter_apply(x, i[:, None], lambda v: v * 2 + 1, numbers, update_shape=(3, 6))


def scatters(name):
    # Each row once: the order of several would be nobody's.
    return lambda f, kind: [((f(4, 6), np.array([2, 0, 3], np.int32), f(3, 6)), lax_scatter(getattr(jax.lax, name)))]


def images(f):
    return f(2, 3, 8, 9), f(4, 3, 3, 3)


def one(*given, f=None):
    return [(given, f)]


def initializer(name):
    def make(f, kind):
        if kind not in ("float32", "bfloat16", "float16", "complex64"):
            return []
        made = getattr(jax.nn.initializers, name)
        settings = {"variance_scaling": (1.0, "fan_in", "normal"), "constant": (2.0,)}.get(name, ())
        shape = (3, 3, 4, 4) if name == "delta_orthogonal" else (4, 6)
        direct = name in ("zeros", "ones")
        return one(KEY, f=lambda k: (made if direct else made(*settings))(key(k), shape, jnp.dtype(kind)))

    return make


def window(f):
    return [((f(4, 6),), lambda x: f.of(x))]


def reduce_window(kind_of):
    return lambda f, kind: one(f(4, 6), f=lambda x: jax.lax.reduce_window(x, np.zeros((), x.dtype), kind_of, (2, 2), (1, 1), "VALID"))


def cumulative(name):
    return lambda f, kind: one(f(4, 6), f=lambda x: getattr(jax.lax, name)(x, 1)) + one(
        f(300), f=lambda x: getattr(jax.lax, name)(x, 0, reverse=True)
    )


def axes_alone(name):
    return lambda f, kind: one(f(4, 6), f=lambda x: getattr(jax.lax, name)(x, (1,)))


def inverse_of(name, n):
    return lambda f, kind: one(f(4, n), f=lambda x: getattr(jnp.fft, name)(x))


def statistics_pair(f, kind):
    return one(f(40), f(40)[::-1].copy()) + one(f(12))


def lu_given(f, kind, then):
    return one(positive(kind, 5), f(5), f=then)


OWN = {
    "jax.lax.conv": lambda f, k: one(*images(f), f=lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME")),
    "jax.lax.conv_with_general_padding": lambda f, k: one(
        *images(f), f=lambda x, w: jax.lax.conv_with_general_padding(x, w, (2, 1), ((1, 1), (0, 2)), None, (1, 2))
    ),
    "jax.lax.conv_general_dilated": lambda f, k: one(
        *images(f), f=lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 2), "VALID", rhs_dilation=(2, 1))
    )
    + one(
        f(2, 8, 9, 6),
        f(3, 3, 3, 4),
        f=lambda x, w: jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=2),
    )
    + one(f(2, 3, 20), f(4, 3, 5), f=lambda x, w: jax.lax.conv_general_dilated(x, w, (2,), "SAME")),
    "jax.lax.conv_general_dilated_local": lambda f, k: one(
        f(2, 3, 6, 6), f(4, 12, 5, 5), f=lambda x, w: jax.lax.conv_general_dilated_local(x, w, (1, 1), "VALID", (2, 2))
    ),
    "jax.lax.conv_general_dilated_patches": lambda f, k: one(
        f(2, 3, 6, 6), f=lambda x: jax.lax.conv_general_dilated_patches(x, (3, 3), (1, 1), "VALID")
    ),
    "jax.lax.conv_transpose": lambda f, k: one(f(2, 8, 9, 3), f(3, 3, 3, 4), f=lambda x, w: jax.lax.conv_transpose(x, w, (2, 2), "SAME")),
    "jax.lax.dot": lambda f, k: one(f(4, 6), f(6, 5)) + one(f(12), f(12)),
    "jax.lax.dot_general": lambda f, k: one(f(2, 4, 6), f(2, 6, 5), f=lambda a, b: jax.lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))),
    # Of complex numbers JAX's own pass chlo-legalize-to-stablehlo makes a constant without a value, and ends by SIGSEGV; so it
    # does when it is run alone, without any device (jaxlib.mlir, lowering_platforms=("cuda",)).
    "jax.lax.ragged_dot": lambda f, k: one(f(6, 4), f(3, 4, 5), np.array([1, 2, 3], np.int32)) if "complex" not in k else [],
    "jax.lax.batch_matmul": lambda f, k: one(f(2, 4, 6), f(2, 6, 5)),
    "jax.lax.gather": lambda f, k: one(f(4, 6), indices(3), f=lax_gather),
    "jax.lax.scatter": scatters("scatter"),
    "jax.lax.scatter_add": scatters("scatter_add"),
    "jax.lax.scatter_sub": scatters("scatter_sub"),
    "jax.lax.scatter_mul": scatters("scatter_mul"),
    "jax.lax.scatter_min": scatters("scatter_min"),
    "jax.lax.scatter_max": scatters("scatter_max"),
    "jax.lax.scatter_apply": lambda f, k: one(f(4, 6), np.array([2, 0, 3], np.int32), f=lax_scatter_apply),
    "jax.lax.index_take": lambda f, k: one(f(4, 6), indices(3), f=lambda x, i: jax.lax.index_take(x, (i,), (0,))),
    "jax.lax.dynamic_slice": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.dynamic_slice(x, (1, 2), (2, 3))),
    "jax.lax.dynamic_slice_in_dim": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.dynamic_slice_in_dim(x, 1, 2, 1)),
    "jax.lax.dynamic_index_in_dim": lambda f, k: one(f(4, 6), 1),
    "jax.lax.dynamic_update_slice": lambda f, k: one(f(4, 6), f(2, 3), f=lambda x, u: jax.lax.dynamic_update_slice(x, u, (1, 2))),
    "jax.lax.dynamic_update_slice_in_dim": lambda f, k: one(f(4, 6), f(2, 6), f=lambda x, u: jax.lax.dynamic_update_slice_in_dim(x, u, 1, 0)),
    "jax.lax.dynamic_update_index_in_dim": lambda f, k: one(f(4, 6), f(6), f=lambda x, u: jax.lax.dynamic_update_index_in_dim(x, u, 1, 0)),
    "jax.lax.slice": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.slice(x, (1, 0), (4, 6), (2, 3))),
    "jax.lax.slice_in_dim": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.slice_in_dim(x, 1, 5, 2, 1)),
    "jax.lax.index_in_dim": lambda f, k: one(f(4, 6), 1),
    "jax.lax.pad": lambda f, k: one(f(4, 6), f(1), f=lambda x, p: jax.lax.pad(x, p[0], ((1, 2, 0), (0, -1, 2)))),
    "jax.lax.broadcast_in_dim": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.broadcast_in_dim(x, (4, 3, 6), (0, 2))),
    "jax.lax.broadcast": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.broadcast(x, (2,))),
    "jax.lax.broadcasted_iota": lambda f, k: one(f=lambda: jax.lax.broadcasted_iota(jnp.dtype(k), (4, 6), 1)),
    "jax.lax.iota": lambda f, k: one(f=lambda: jax.lax.iota(jnp.dtype(k), 12)),
    "jax.lax.transpose": lambda f, k: one(f(2, 3, 4), f=lambda x: jax.lax.transpose(x, (2, 0, 1))),
    "jax.lax.rev": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.rev(x, (0, 1))),
    "jax.lax.concatenate": lambda f, k: one(f(4, 6), f(3, 6), f=lambda a, b: jax.lax.concatenate([a, b], 0)),
    "jax.lax.split": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.split(x, (1, 5), 1)),
    "jax.lax.clamp": lambda f, k: one(f(12), f=lambda x: jax.lax.clamp(np.asarray(0, x.dtype), x, np.asarray(1, x.dtype))),
    "jax.lax.select": lambda f, k: one(np.arange(12) % 3 == 0, f(12), f(12)[::-1].copy()),
    "jax.lax.select_n": lambda f, k: one(
        np.arange(12) % 3, f(12), f(12)[::-1].copy(), np.roll(f(12), 2), f=lambda i, *a: jax.lax.select_n(i.astype(jnp.int32), *a)
    ),
    "jax.lax.sort": lambda f, k: one(f(300)) + one(f(4, 6), f=lambda x: jax.lax.sort((x, x), num_keys=2)),
    "jax.lax.sort_key_val": lambda f, k: one(np.random.default_rng(1).permutation(12).astype(np.int32), f(12)),
    "jax.lax.top_k": lambda f, k: one(np.random.default_rng(1).permutation(100).astype(jnp.dtype(k)), 5),
    "jax.lax.approx_max_k": lambda f, k: one(np.random.default_rng(1).permutation(64).astype(jnp.dtype(k)), 5),
    "jax.lax.approx_min_k": lambda f, k: one(np.random.default_rng(1).permutation(64).astype(jnp.dtype(k)), 5),
    "jax.lax.argmax": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.argmax(x, 1, jnp.int32)),
    "jax.lax.argmin": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.argmin(x, 1, jnp.int32)),
    "jax.lax.reduce": lambda f, k: one(f(4, 6), f=lambda x: jax.lax.reduce(x, np.zeros((), x.dtype), jax.lax.max, (1,))),
    "jax.lax.reduce_precision": lambda f, k: one(f(12), f=lambda x: jax.lax.reduce_precision(x, 5, 7)),
    "jax.lax.reduce_window": lambda f, k: reduce_window(jax.lax.add)(f, k) + reduce_window(jax.lax.max)(f, k),
    "jax.lax.associative_scan": lambda f, k: one(f(40), f=lambda x: jax.lax.associative_scan(jnp.add, x)),
    "jax.lax.scan": lambda f, k: one(f(20), f=lambda x: jax.lax.scan(lambda c, v: (c + v, c - v), np.zeros((), x.dtype), x)),
    "jax.lax.map": lambda f, k: one(f(20), f=lambda x: jax.lax.map(lambda v: v + v, x)),
    "jax.lax.fori_loop": lambda f, k: one(f(12), f=lambda x: jax.lax.fori_loop(0, 5, lambda i, c: c + x, x)),
    "jax.lax.while_loop": lambda f, k: one(f(12), f=lambda x: jax.lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] + x), (0, x))),
    "jax.lax.cond": lambda f, k: one(f(12), f=lambda x: jax.lax.cond(x[0] == x[1], lambda v: v, lambda v: v + v, x)),
    "jax.lax.switch": lambda f, k: one(f(12), indices(1), f=lambda x, i: jax.lax.switch(i[0], [lambda v: v, lambda v: v + v, lambda v: v * v], x)),
    "jax.lax.custom_root": lambda f, k: (
        one(
            between("float32", 4),
            f=lambda x: jax.lax.custom_root(
                lambda v: v * v - x,
                x,
                lambda g, v: jax.lax.fori_loop(0, 20, lambda i, c: c - g(c) / (2 * c), v),
                lambda g, y: y / jax.jacobian(g)(y).diagonal(),
            ),
        )
        if k == "float32"
        else []
    ),
    "jax.lax.custom_linear_solve": lambda f, k: (
        one(
            positive(k, 5), f(5), f=lambda a, b: jax.lax.custom_linear_solve(lambda x: a @ x, b, lambda mv, y: jnp.linalg.solve(a, y), symmetric=True)
        )
        if k in ("float32", "complex64")
        else []
    ),
    "jax.lax.bitcast_convert_type": lambda f, k: one(f(12), f=lambda x: jax.lax.bitcast_convert_type(x, jnp.int32)) if k == "float32" else [],
    "jax.lax.convert_element_type": lambda f, k: one(f(12), f=lambda x: jax.lax.convert_element_type(x, jnp.float16)),
    "jax.lax.expand_dims": lambda f, k: one(f(12), (0, 2)),
    "jax.lax.squeeze": lambda f, k: one(f(1, 12), (0,)),
    "jax.lax.collapse": lambda f, k: one(f(2, 3, 4), 0, 2),
    "jax.lax.full": lambda f, k: one(f=lambda: jax.lax.full((4, 6), 1, jnp.dtype(k))),
    "jax.lax.empty": lambda f, k: one(f=lambda: jax.lax.empty((4, 6), jnp.dtype(k))),
    "jax.lax.full_like": lambda f, k: one(f(4, 6), 1),
    "jax.lax.fft": lambda f, k: (
        one(f(4, 12), f=lambda x: jax.lax.fft(x, "RFFT", (12,))) if k == "float32" else one(f(4, 12), f=lambda x: jax.lax.fft(x, "FFT", (12,)))
    ),
    "jax.lax.rng_bit_generator": lambda f, k: (
        one(np.arange(4, dtype=np.uint32), f=lambda s: jax.lax.rng_bit_generator(s, (4, 6), algorithm=jax.lax.RandomAlgorithm.RNG_THREE_FRY))
        if k == "float32"
        else []
    ),
    "jax.lax.rng_uniform": lambda f, k: [],
    "jax.lax.optimization_barrier": lambda f, k: one(f(12)),
    "jax.lax.psum": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.psum(v, "i"))),
    "jax.lax.pmean": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.pmean(v, "i"))),
    "jax.lax.pmax": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.pmax(v, "i"))),
    "jax.lax.pmin": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.pmin(v, "i"))),
    "jax.lax.axis_index": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.axis_index("i"))),
    "jax.lax.axis_size": lambda f, k: one(f(4, 6), f=along(lambda v: v * jax.lax.axis_size("i"))),
    "jax.lax.all_gather": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.all_gather(v, "i"))),
    "jax.lax.all_to_all": lambda f, k: one(f(4, 4), f=along(lambda v: jax.lax.all_to_all(v, "i", 0, 0))),
    "jax.lax.ppermute": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 3), (3, 0)]))),
    "jax.lax.pshuffle": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.pshuffle(v, "i", [1, 2, 3, 0]))),
    "jax.lax.psum_scatter": lambda f, k: one(f(4, 4), f=along(lambda v: jax.lax.psum_scatter(v, "i"))),
    "jax.lax.pbroadcast": lambda f, k: one(f(4, 6), f=along(lambda v: jax.lax.pbroadcast(v, "i", 0))),
    "jax.lax.random_gamma_grad": lambda f, k: one(between("float32", 12), between("float32", 12)) if k == "float32" else [],
    **{f"jax.lax.{n}": cumulative(n) for n in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")},
    **{f"jax.lax.{n}": axes_alone(n) for n in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor")},
    **{
        f"jax.nn.initializers.{n}": initializer(n)
        for n in (
            "zeros",
            "ones",
            "constant",
            "uniform",
            "normal",
            "truncated_normal",
            "variance_scaling",
            "glorot_uniform",
            "glorot_normal",
            "xavier_uniform",
            "xavier_normal",
            "lecun_uniform",
            "lecun_normal",
            "he_uniform",
            "he_normal",
            "kaiming_uniform",
            "kaiming_normal",
            "orthogonal",
            "delta_orthogonal",
        )
    },
    "jax.lax.linalg.triangular_solve": lambda f, k: one(
        positive(k, 5), f(5, 3), f=lambda a, b: jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    ),
    "jax.lax.linalg.tridiagonal_solve": lambda f, k: (
        one(f(6), f(6) + 9, f(6), f(6, 2), f=lambda a, d, c, b: jax.lax.linalg.tridiagonal_solve(a.at[0].set(0), d, c.at[-1].set(0), b))
        if k == "float32"
        else []
    ),
    "jax.lax.linalg.lu_pivots_to_permutation": lambda f, k: one(np.array([2, 2, 3, 3], np.int32), 4),
    "jax.lax.linalg.householder_product": lambda f, k: one(f(5, 5), f=lambda a: jax.lax.linalg.householder_product(*jax.lax.linalg.geqrf(a))),
    "jax.lax.linalg.ormqr": lambda f, k: one(f(5, 5), f(5, 3), f=lambda a, c: jax.lax.linalg.ormqr(*jax.lax.linalg.geqrf(a), c)),
    "jax.lax.linalg.cholesky_update": lambda f, k: (
        one(positive(k, 5), f(5), f=lambda a, v: jax.lax.linalg.cholesky_update(jnp.linalg.cholesky(a).T.conj(), v)) if k == "float32" else []
    ),
    "jax.lax.linalg.symmetric_product": lambda f, k: one(f(4, 6), f(4, 4)),
    "jax.lax.linalg.eig": lambda f, k: one(f(5, 5), f=lambda a: jax.lax.linalg.eig(a)),
    "jax.scipy.linalg.lu_solve": lambda f, k: lu_given(f, k, lambda a, b: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor(a), b)),
    "jax.scipy.linalg.cho_solve": lambda f, k: lu_given(f, k, lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b)),
    "jax.scipy.linalg.eigh_tridiagonal": lambda f, k: one(
        f(6), f(6)[:5].copy(), f=lambda d, e: jax.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)
    ),
    "jax.scipy.linalg.solve_triangular": lambda f, k: one(positive(k, 5), f(5)),
    "jax.scipy.linalg.solve_sylvester": lambda f, k: one(positive(k, 4), positive(k, 3), f(4, 3)),
    "jax.scipy.linalg.rsf2csf": lambda f, k: one(f(4, 4), f=lambda a: jax.scipy.linalg.rsf2csf(*jax.scipy.linalg.schur(a))),
    "jax.scipy.linalg.funm": lambda f, k: one(f(4, 4), f=lambda a: jax.scipy.linalg.funm(a, jnp.exp)),
    "jax.scipy.linalg.expm_frechet": lambda f, k: one(f(4, 4) * 0.1, f(4, 4)),
    "jax.nn.dot_product_attention": lambda f, k: one(f(2, 8, 2, 16), f(2, 8, 2, 16)[::-1].copy(), f(2, 8, 2, 16))
    + one(f(2, 8, 2, 16), f(2, 8, 2, 16), f(2, 8, 2, 16), f=lambda q, a, v: jax.nn.dot_product_attention(q, a, v, is_causal=True)),
    "jax.nn.one_hot": lambda f, k: one(indices(12), 5, f=lambda i, n: jax.nn.one_hot(i, n, dtype=jnp.dtype(k))),
    "jax.nn.standardize": lambda f, k: one(f(4, 6)),
    "jax.nn.scaled_matmul": lambda f, k: [],
    "jax.nn.scaled_dot_general": lambda f, k: [],
    "jax.nn.get_scaled_dot_general_config": lambda f, k: [],
    "jax.scipy.signal.convolve2d": lambda f, k: one(f(8, 9), f(3, 3)),
    "jax.scipy.signal.correlate2d": lambda f, k: one(f(8, 9), f(3, 3)),
    "jax.scipy.signal.istft": lambda f, k: (
        one(filled("complex64", 9, 12), f=lambda z: jax.scipy.signal.istft(z, nperseg=16)) if k == "float32" else []
    ),
    "jax.scipy.signal.stft": lambda f, k: one(f(64), f=lambda x: jax.scipy.signal.stft(x, nperseg=16)),
    "jax.scipy.signal.welch": lambda f, k: one(f(64), f=lambda x: jax.scipy.signal.welch(x, nperseg=16)),
    "jax.scipy.signal.csd": lambda f, k: one(f(64), f(64)[::-1].copy(), f=lambda x, y: jax.scipy.signal.csd(x, y, nperseg=16)),
    "jax.scipy.ndimage.map_coordinates": lambda f, k: one(
        f(8, 9), between("float32", 2, 12) * 7, f=lambda x, c: jax.scipy.ndimage.map_coordinates(x, c, order=1)
    ),
    "jax.scipy.integrate.trapezoid": lambda f, k: one(f(12)),
    "jax.scipy.cluster.vq.vq": lambda f, k: one(f(12, 3), f(4, 3)),
    "jax.scipy.sparse.linalg.cg": lambda f, k: one(positive(k, 5), f(5), f=lambda a, b: jax.scipy.sparse.linalg.cg(lambda x: a @ x, b)[0]),
    "jax.scipy.sparse.linalg.gmres": lambda f, k: one(positive(k, 5), f(5), f=lambda a, b: jax.scipy.sparse.linalg.gmres(lambda x: a @ x, b)[0]),
    "jax.scipy.sparse.linalg.bicgstab": lambda f, k: one(
        positive(k, 5), f(5), f=lambda a, b: jax.scipy.sparse.linalg.bicgstab(lambda x: a @ x, b)[0]
    ),
    "jax.scipy.optimize.minimize": lambda f, k: (
        one(between(k, 3), f=lambda x: jax.scipy.optimize.minimize(lambda v: ((v - 1) ** 2).sum(), x, method="BFGS").x) if k == "float32" else []
    ),
    "jax.scipy.special.sph_harm": lambda f, k: (
        one(
            indices(12) % 2,
            indices(12) % 3 + 1,
            between("float32", 12),
            between("float32", 12),
            f=lambda m, n, t, p: jax.scipy.special.sph_harm(m, n, t, p, n_max=4),
        )
        if k == "float32"
        else []
    ),
    "jax.scipy.special.sph_harm_y": lambda f, k: (
        one(
            indices(12) % 3 + 1,
            indices(12) % 2,
            between("float32", 12),
            between("float32", 12),
            f=lambda n, m, t, p: jax.scipy.special.sph_harm_y(n, m, t, p, n_max=4),
        )
        if k == "float32"
        else []
    ),
    "jax.scipy.special.bessel_jn": lambda f, k: (
        one(between("float32", 12), f=lambda z: jax.scipy.special.bessel_jn(z, v=3)) if k == "float32" else []
    ),
    "jax.scipy.special.lpmn": lambda f, k: one(between("float32", 6), f=lambda z: jax.scipy.special.lpmn(3, 3, z)) if k == "float32" else [],
    "jax.scipy.special.lpmn_values": lambda f, k: (
        one(between("float32", 6), f=lambda z: jax.scipy.special.lpmn_values(3, 3, z, False)) if k == "float32" else []
    ),
    "jax.scipy.special.multigammaln": lambda f, k: one(between("float32", 12) + 3, 3) if k == "float32" else [],
    "jax.scipy.special.polygamma": lambda f, k: one(indices(12).astype(np.float32), between("float32", 12) + 1) if k == "float32" else [],
    "jax.scipy.special.zeta": lambda f, k: one(between("float32", 12) + 2, between("float32", 12) + 1) if k == "float32" else [],
    "jax.scipy.stats.gaussian_kde": lambda f, k: one(f(40), f(12), f=lambda d, x: jax.scipy.stats.gaussian_kde(d)(x)) if k == "float32" else [],
    "jax.scipy.stats.multivariate_normal.pdf": lambda f, k: one(f(3), f(3)[::-1].copy(), positive(k, 3)),
    "jax.scipy.stats.multivariate_normal.logpdf": lambda f, k: one(f(3), f(3)[::-1].copy(), positive(k, 3)),
    "jax.scipy.stats.dirichlet.pdf": lambda f, k: one(np.array([0.2, 0.3, 0.5], np.float32), between("float32", 3)) if k == "float32" else [],
    "jax.scipy.stats.dirichlet.logpdf": lambda f, k: one(np.array([0.2, 0.3, 0.5], np.float32), between("float32", 3)) if k == "float32" else [],
    "jax.scipy.stats.multinomial.pmf": lambda f, k: (
        one(np.array([1, 2, 3], np.int32), 6, np.array([0.2, 0.3, 0.5], np.float32)) if k == "float32" else []
    ),
    "jax.scipy.stats.multinomial.logpmf": lambda f, k: (
        one(np.array([1, 2, 3], np.int32), 6, np.array([0.2, 0.3, 0.5], np.float32)) if k == "float32" else []
    ),
    "jax.numpy.einsum": lambda f, k: one(f(4, 6), f(6, 5), f=lambda a, b: jnp.einsum("ij,jk->ki", a, b))
    + one(f(2, 3, 4), f(2, 4, 3), f=lambda a, b: jnp.einsum("bij,bji->b", a, b)),
    "jax.numpy.apply_along_axis": lambda f, k: one(f(4, 6), f=lambda x: jnp.apply_along_axis(jnp.cumsum, 1, x)),
    "jax.numpy.apply_over_axes": lambda f, k: one(f(2, 3, 4), f=lambda x: jnp.apply_over_axes(jnp.sum, x, (0, 2))),
    "jax.numpy.piecewise": lambda f, k: one(f(12), f=lambda x: jnp.piecewise(x, [x == x[0], x != x[0]], [lambda v: v, lambda v: v + v])),
    "jax.numpy.fromfunction": lambda f, k: one(f=lambda: jnp.fromfunction(lambda i, j: i * j, (4, 6), dtype=jnp.dtype(k))),
    "jax.numpy.vectorize": lambda f, k: one(f(4, 6), f=lambda x: jnp.vectorize(lambda v: v + v)(x)),
    "jax.numpy.place": lambda f, k: one(f(12), f=lambda x: jnp.place(x, np.arange(12) % 3 == 0, x[:3], inplace=False)),
    "jax.numpy.put": lambda f, k: one(f(12), f(3), f=lambda x, v: jnp.put(x, np.array([1, 5, 7]), v, inplace=False)),
    "jax.numpy.put_along_axis": lambda f, k: one(
        f(4, 6), f(4, 1), f=lambda x, v: jnp.put_along_axis(x, np.array([[0], [2], [1], [5]]), v, 1, inplace=False)
    ),
    "jax.numpy.fill_diagonal": lambda f, k: one(f(5, 5), f(5), f=lambda x, v: jnp.fill_diagonal(x, v, inplace=False)),
    "jax.numpy.take_along_axis": lambda f, k: one(f(4, 6), indices(4, 2), 1),
    "jax.numpy.select": lambda f, k: one(f(12), f=lambda x: jnp.select([x == x[0], x == x[1]], [x, x + x], 0)),
    "jax.numpy.choose": lambda f, k: one(indices(12) % 2, f(12), f(12)[::-1].copy(), f=lambda i, a, b: jnp.choose(i, [a, b], mode="clip")),
    "jax.numpy.interp": lambda f, k: one(between("float32", 12), np.linspace(0, 1, 6, dtype=np.float32), f(6)),
    "jax.numpy.pad": lambda f, k: one(f(4, 6), f=lambda x: jnp.pad(x, ((1, 2), (0, 3)), mode="reflect")) + one(f(12), f=lambda x: jnp.pad(x, 2)),
    "jax.numpy.tensordot": lambda f, k: one(f(2, 3, 4), f(4, 3), f=lambda a, b: jnp.tensordot(a, b, ((1, 2), (1, 0)))),
    "jax.numpy.block": lambda f, k: one(f(4, 6), f(4, 3), f=lambda a, b: jnp.block([[a, b], [b, a]])),
    "jax.numpy.unravel_index": lambda f, k: one(indices(12), f=lambda i: jnp.unravel_index(i, (2, 3))),
    "jax.numpy.ravel_multi_index": lambda f, k: one(
        indices(12) % 2, indices(12) % 3, f=lambda i, j: jnp.ravel_multi_index((i, j), (2, 3), mode="clip")
    ),
    "jax.numpy.unpackbits": lambda f, k: one(filled("uint8", 12)) if k == "uint8" else [],
    "jax.numpy.packbits": lambda f, k: one(filled("bool", 24)) if k == "bool" else [],
    "jax.numpy.mask_indices": lambda f, k: one(4, f=lambda n: jnp.mask_indices(n, jnp.triu, size=10)),
    "jax.numpy.ix_": lambda f, k: one(indices(3), indices(4)),
    "jax.numpy.reduceat": lambda f, k: [],
    "jax.numpy.linalg.tensorsolve": lambda f, k: one(
        positive(k, 6), f(6), f=lambda a, b: jnp.linalg.tensorsolve(a.reshape(2, 3, 2, 3), b.reshape(2, 3))
    ),
    "jax.numpy.linalg.tensorinv": lambda f, k: one(positive(k, 6), f=lambda a: jnp.linalg.tensorinv(a.reshape(2, 3, 2, 3))),
    "jax.numpy.linalg.multi_dot": lambda f, k: one(f(4, 6), f(6, 5), f(5, 3), f=lambda *a: jnp.linalg.multi_dot(a)),
    "jax.numpy.linalg.eig": lambda f, k: one(f(5, 5)),
    "jax.numpy.linalg.eigvals": lambda f, k: one(f(5, 5)),
    # At 0 and 1, which whole numbers are, lies a pole.
    "jax.scipy.stats.cauchy.isf": lambda f, k: one(between("float32", 12)),
    "jax.scipy.stats.cauchy.ppf": lambda f, k: one(between("float32", 12)),
    "jax.scipy.stats.wrapcauchy.pdf": lambda f, k: one(between("float32", 12), between("float32", 12)),
    # No whole number on an edge: edges are rounded differently where a product and a sum are one instruction.
    "jax.numpy.histogramdd": lambda f, k: one(f(20, 3), f=lambda x: jnp.histogramdd(x, 4, [(-10.3, 10.4)] * 3)),
    "jax.numpy.digitize": lambda f, k: one(f(12), np.linspace(-1, 2, 5).astype(jnp.dtype(k))),
    "jax.numpy.searchsorted": lambda f, k: one(np.sort(f(12)), f(6)),
    "jax.numpy.cross": lambda f, k: one(f(4, 3), f(4, 3)[::-1].copy()),
    "jax.numpy.delete": lambda f, k: one(f(12), f=lambda x: jnp.delete(x, np.array([1, 5]))),
    "jax.numpy.insert": lambda f, k: one(f(12), f(2), f=lambda x, v: jnp.insert(x, np.array([1, 5]), v)),
    "jax.numpy.polyint": lambda f, k: one(f(5)),
    "jax.numpy.poly": lambda f, k: one(f(5)),
    "jax.numpy.nonzero": lambda f, k: one(f(12), f=lambda x: jnp.nonzero(x, size=12)),
    "jax.numpy.unique": lambda f, k: one(f(12), f=lambda x: jnp.unique(x, size=12)) + one(indices(12)),
}
