"""The released models once more, in NumPy: tables of their tensors' names, and what they compute.

Written from the equations and the names in the published files, apart from what is tested.
"""

import h5py
import numpy as np

WIDTH = 100


def names(family, languages):
    """Return for every language which layer has which role, as published.

    A family is (share, encoder, output): "gile", "linear" of Keras 2 or "linear 1" of Keras 1.
    """
    share, encoder, output = family
    keras_1 = output == "linear 1"
    td = "dense" if keras_1 else "time_distributed"
    attention = ("sW", "su", "wW", "wu")
    encoders = ("word", "sentence")
    tables = []
    for i in range(languages):
        if encoder == "attdense":
            numbers = {
                "none": [*range(1 + 7 * i, 8 + 7 * i)],
                "att": [5 + 3 * i, 6 + 3 * i, 1, 2, 3, 4, 7 + 3 * i],
                "enc": [1, 2, *range(3 + 5 * i, 8 + 5 * i)],
                "both": [1, 2, 3, 4, 5, 6, 7 + i],
            }[share]
            joint = {"none": 7, "att": 5, "enc": 3, "both": 7}[share]
            table = dict(zip(encoders, (f"{td}_{n}" for n in numbers[:2]), strict=True))
        else:
            grus = 2 if encoder == "attgru" else 4
            first = 1 if share in ("enc", "both") else 1 + grus * i
            roles = encoders if grus == 2 else ("word", "word_back", "sentence", "sentence_back")
            table = {role: f"gru_{first + n}" for n, role in enumerate(roles)}
            numbers = [0, 0, 1, 2, 3, 4, 5 + i]  # shared attention, or one language
            joint = 5
        table |= dict(zip(attention, (f"{td}_{n}" for n in numbers[2:6]), strict=True))
        if output != "gile":
            table["system"] = f"dense_{numbers[6]}"
        else:
            table |= {"unit": f"time_distributed_{numbers[6]}"}
            table |= {"V": f"dense_{joint}", "U": f"dense_{joint + 1}"}
        tables.append(table)
    return tables


def draw(tables, counts, joint=11, dim=40, width=WIDTH, seed=0):
    """Draw the weights (kernel, recurrent kernel or None, bias) of every layer."""
    rng = np.random.default_rng(seed)
    weights = {}
    for table, k in zip(tables, counts, strict=True):
        n = width * (2 if "word_back" in table else 1)
        shapes = {
            **dict.fromkeys(("word", "word_back"), (dim, width)),
            **dict.fromkeys(("sentence", "sentence_back"), (n, width)),
            **dict.fromkeys(("sW", "wW"), (n, n)),
            **dict.fromkeys(("su", "wu"), (n, 1)),
            "V": (n, joint),
            "U": (dim, joint),
            "unit": (joint, 1),
            "system": (n, k),
        }
        for role, layer in table.items():
            rows, columns = shapes[role]
            if layer in weights:
                continue
            recurrent = None
            if layer.startswith("gru"):
                columns *= 3
                recurrent = rng.normal(size=(width, columns)) / width**0.5
            kernel = rng.normal(size=(rows, columns)) * (2 / rows) ** 0.5
            bias = rng.normal(size=columns) * 0.3 + 5 * (
                role in ("su", "wu")
            )  # networks stay alive
            weights[layer] = [
                None if w is None else w.astype("f4") for w in (kernel, recurrent, bias)
            ]
    return weights


def tensors(weights, keras_1):
    """Return the tensors by their path in the file."""
    found = {}
    for layer, (kernel, recurrent, bias) in weights.items():
        if not keras_1:
            found[f"{layer}/{layer}/kernel"] = kernel
            found[f"{layer}/{layer}/bias"] = bias
            if recurrent is not None:
                found[f"{layer}/{layer}/recurrent_kernel"] = recurrent
            continue
        group = layer.replace("dense", "timedistributed")
        if recurrent is None:
            found |= {f"{group}/{layer}_W": kernel, f"{group}/{layer}_b": bias}
            continue
        for i, gate in enumerate("zrh"):
            part = slice(i * bias.size // 3, (i + 1) * bias.size // 3)
            found[f"{layer}/{layer}_W_{gate}"] = kernel[:, part]
            found[f"{layer}/{layer}_U_{gate}"] = recurrent[:, part]
            found[f"{layer}/{layer}_b_{gate}"] = bias[part]
    return found


def write(path, found):
    """Write tensors as Keras does."""
    with h5py.File(path, "w") as file:
        groups = sorted({name.partition("/")[0] for name in found})
        file.attrs["layer_names"] = [group.encode() for group in ["input_1", *groups]]
        file.create_group("input_1").attrs["weight_names"] = []
        for name, value in found.items():
            file[name] = value
        for group in groups:
            rest = [name.partition("/")[2] for name in found if name.startswith(f"{group}/")]
            file[group].attrs["weight_names"] = [name.encode() for name in rest]
    return path


# --- what a model computes ---


def relu(v):
    return np.maximum(v, 0)


def softmax(v):
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def dense(x, layer):
    kernel, _, bias = (None if w is None else w.astype(float) for w in layer)
    return x @ kernel + bias


def gru(x, layer):
    """Run over x [B, T, in], literally: z, r, candidate, next state."""
    kernel, recurrent, bias = (w.astype(float) for w in layer)
    width = len(recurrent)
    gates = [slice(i * width, (i + 1) * width) for i in range(3)]
    w_z, w_r, w_h = (kernel[:, gate] for gate in gates)
    u_z, u_r, u_h = (recurrent[:, gate] for gate in gates)
    b_z, b_r, b_h = (bias[gate] for gate in gates)
    h = np.zeros((len(x), width))
    states = []
    for t in range(x.shape[1]):
        z = np.clip(0.2 * (x[:, t] @ w_z + h @ u_z + b_z) + 0.5, 0, 1)
        r = np.clip(0.2 * (x[:, t] @ w_r + h @ u_r + b_r) + 0.5, 0, 1)
        c = np.tanh(x[:, t] @ w_h + (r * h) @ u_h + b_h)
        h = z * h + (1 - z) * c
        states.append(h)
    return np.stack(states, 1)


def states(x, table, weights, role):
    if f"{role}_back" in table:
        forward = gru(x, weights[table[role]])
        backward = gru(x[:, ::-1], weights[table[f"{role}_back"]])
        return np.concatenate([forward, backward], -1)
    if table[role].startswith("gru"):
        return gru(x, weights[table[role]])
    return relu(dense(x, weights[table[role]]))


def attend(h, hidden, score):
    a = softmax(relu(dense(relu(dense(h, hidden)), score))[..., 0])
    return np.einsum("...t,...tn->...n", a, h), a


def run(x, e, table, weights):
    """Return document vectors, word attention, sentence attention and logits."""
    batch = len(x)
    words = states(x.astype(float), table, weights, "word").reshape(batch, 30, 30, -1)
    sentences, word_attention = attend(words, weights[table["wW"]], weights[table["wu"]])
    outer = states(sentences, table, weights, "sentence")
    h, sentence_attention = attend(outer, weights[table["sW"]], weights[table["su"]])
    if "system" in table:
        logits = dense(h, weights[table["system"]])
    else:
        z = relu(dense(h, weights[table["V"]]))
        labels = relu(dense(e.astype(float), weights[table["U"]]))
        joint = z[:, None] * labels[None]  # [B, k, d_j]
        logits = dense(joint, weights[table["unit"]])[..., 0]
    return h, word_attention, sentence_attention, logits
