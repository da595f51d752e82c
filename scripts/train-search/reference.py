"""Reference implementation of Narrows tool search: tokenisation, BM25F, query
splitting, static embedding, fusion. The Rust engine must agree with this file.
"""

import math
import re
import struct
from collections import Counter

import numpy as np
import scipy.sparse as sp
import snowballstemmer

# --- parameters -------------------------------------------------------------

FIELDS = ("name", "server", "desc", "param_names", "param_descs")
FIELD_WEIGHTS = (3.0, 1.5, 1.0, 0.75, 0.3)
K1 = 0.9
B = 0.75
DAMPING = 10.0  # added to the best BM25 score of a unit before dividing by it
COSINE_WEIGHT = 0.5
MAX_PARTS = 8
MIN_PART_WORDS = 3
FLOOR_TOP = 5  # a query has matches if one of its best tools reaches one of:
FLOOR_COVERAGE = 0.4
FLOOR_COSINE = 0.65
FLOOR_SUM = 1.8
DESC_CHARS = 400  # how much of a description the tool vector reads

STOP = frozenset(
    """a an and are as at be by for from in is it of on or that the this to was with
    i me my we our us you your he she they them their its what which who how when where
    there here can could would should will may might do does did have has had am been
    being if then than so but not no into about these those such any some all more most
    also just too very
    please need want like help looking know let tell give provide additionally
    furthermore moreover finally lastly next firstly secondly after afterwards once
    interested get able using use""".split()
)

CONNECTORS = (
    ("as", "well", "as"), ("along", "with"), ("after", "that"), ("in", "addition"),
    ("and",), ("then",), ("also",), ("additionally",), ("furthermore",),
    ("moreover",), ("afterwards",), ("finally",), ("lastly",),
)

# --- tokens -----------------------------------------------------------------

RUN = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+|[;\n]+")

_stemmer = snowballstemmer.stemmer("english")
_stems = {}


def stem(word):
    out = _stems.get(word)
    if out is None:
        out = _stems[word] = _stemmer.stemWord(word)
    return out


def bm25_tokens(text):
    """Stems of the words of a text. `getUserId` gives get, user, id and getuserid."""
    out = []
    for run in RUN.findall(text):
        parts = CAMEL.split(run)
        words = [p.lower() for p in parts]
        if len(parts) > 1:
            words.append(run.lower())
        out += [stem(w) for w in words if w not in STOP]
    return out


# --- query parts ------------------------------------------------------------


def content_words(text):
    return len(set(bm25_tokens(text)))


def split_connectors(sentence):
    """Cuts a sentence at connectors; a connector may carry a trailing comma."""
    words = sentence.split()
    plain = [w.lower().rstrip(",") for w in words]
    pieces, cur, i = [], [], 0
    while i < len(words):
        for phrase in CONNECTORS:
            if tuple(plain[i:i + len(phrase)]) == phrase:
                pieces.append(" ".join(cur))
                cur, i = [], i + len(phrase)
                break
        else:
            cur.append(words[i])
            i += 1
    pieces.append(" ".join(cur))
    return [p for p in pieces if p]


def split_query(query):
    """The parts of a query; a query of one part gives a list of one."""
    parts = []
    for sentence in SENTENCE.split(query):
        start = len(parts)
        for piece in split_connectors(sentence):
            short = content_words(piece) < MIN_PART_WORDS
            if len(parts) > start and (short or content_words(parts[-1]) < MIN_PART_WORDS):
                parts[-1] += " " + piece
            else:
                parts.append(piece)
    parts = [p for p in parts if content_words(p) > 0]
    if len(parts) > MAX_PARTS:
        parts = parts[:MAX_PARTS - 1] + [" ".join(parts[MAX_PARTS - 1:])]
    return parts or [query]


# --- embedding table --------------------------------------------------------

MAGIC = b"NRWSEMB1"


class Vocabulary:
    """Whole words, with greedy longest-match pieces (`##ing`) for the others."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.index = {t: i for i, t in enumerate(tokens)}
        self.memo = {}

    def word(self, word):
        if word in self.index:
            return [self.index[word]]
        if any("0" <= c <= "9" for c in word):
            return []  # an identifier or a number says nothing
        out, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                i = self.index.get(("##" if start else "") + word[start:end])
                if i is not None:
                    break
            else:
                return []  # a character outside the vocabulary: the word is dropped
            out.append(i)
            start = end
        return out

    def run(self, run):
        out = self.memo.get(run)
        if out is None:
            whole = self.index.get(run.lower())
            if whole is not None:
                out = [whole]
            else:
                out = [i for p in CAMEL.split(run) for i in self.word(p.lower())]
            self.memo[run] = out
        return out

    def ids(self, text):
        return [i for run in RUN.findall(text) for i in self.run(run)]


def write_table(path, tokens, rows):
    """Tokens must be sorted by their bytes. Rows are quantised to int8 with one scale."""
    scale = np.abs(rows).max(axis=1).astype(np.float32) / 127
    scale[scale == 0] = 1
    q = np.clip(np.rint(rows / scale[:, None]), -127, 127).astype(np.int8)
    encoded = [t.encode() for t in tokens]
    assert encoded == sorted(encoded) and max(map(len, encoded)) < 256
    blob = b"".join(encoded)
    with open(path, "wb") as f:
        f.write(MAGIC + struct.pack("<III", len(tokens), rows.shape[1], len(blob)))
        f.write(bytes(len(e) for e in encoded))
        f.write(blob)
        f.write(scale.astype("<f4").tobytes())
        f.write(q.tobytes())


def read_table(path):
    data = open(path, "rb").read()
    assert data[:8] == MAGIC
    count, dim, blob_len = struct.unpack_from("<III", data, 8)
    lengths = data[20:20 + count]
    at, tokens = 20 + count, []
    for n in lengths:
        tokens.append(data[at:at + n].decode())
        at += n
    scale = np.frombuffer(data, "<f4", count, at)
    at += 4 * count
    q = np.frombuffer(data, np.int8, count * dim, at).reshape(count, dim)
    assert at + count * dim == len(data)
    return Vocabulary(tokens), q.astype(np.float32) * scale[:, None]


def text_vectors(id_lists, table):
    """Sum of the rows of the tokens (with repeats), normalised; no tokens: zero."""
    ptr = np.cumsum([0] + [len(x) for x in id_lists])
    ids = np.array([i for x in id_lists for i in x], np.int64)
    m = sp.csr_matrix((np.ones(len(ids), np.float32), ids, ptr), shape=(len(id_lists), len(table)))
    v = m @ table
    return v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-9)


# --- tools ------------------------------------------------------------------


def clean(text):
    return " ".join((text or "").split())


def tool_fields(tool):
    return (
        tool["name"],
        tool["server"],
        tool["desc"] or "",
        " ".join(p[0] for p in tool["params"]),
        " ".join(p[1] or "" for p in tool["params"]),
    )


def tool_embedding_text(tool):
    """The name counts twice."""
    return " ".join((tool["server"], tool["name"], tool["name"], clean(tool["desc"])[:DESC_CHARS]))


# --- index and ranking ------------------------------------------------------


class Index:
    def __init__(self, tools, table_path=None, table=None):
        self.tools = tools
        n = len(tools)
        counts = [[Counter(bm25_tokens(x)) for x in tool_fields(t)] for t in tools]
        df = Counter(t for doc in counts for t in set().union(*doc))
        self.terms = {t: i for i, t in enumerate(df)}
        d = np.array(list(df.values()), np.float64)
        self.idf = np.log(1 + (n - d + 0.5) / (d + 0.5))
        self.idf_unknown = math.log(1 + (n + 0.5) / 0.5)
        weighted = 0
        for f, w in enumerate(FIELD_WEIGHTS):
            rows, cols, vals = [], [], []
            for i, doc in enumerate(counts):
                for t, c in doc[f].items():
                    rows.append(i)
                    cols.append(self.terms[t])
                    vals.append(c)
            m = sp.csr_matrix((np.array(vals, np.float64), (rows, cols)), shape=(n, len(df)))
            length = np.asarray(m.sum(1)).ravel()
            average = length[length > 0].mean() if (length > 0).any() else 1.0
            weighted = weighted + sp.diags(w / (1 - B + B * length / average)) @ m
        weighted = weighted.tocsr()
        weighted.data = weighted.data * (K1 + 1) / (weighted.data + K1)
        self.weights = (weighted @ sp.diags(self.idf)).T.tocsr()  # terms x tools
        if table_path:
            table = read_table(table_path)
        self.table = table
        if table:
            vocab, matrix = table
            self.vectors = text_vectors([vocab.ids(tool_embedding_text(t)) for t in tools], matrix)

    def bm25(self, texts):
        """Scores, texts x tools, sparse. A repeated query term counts once."""
        rows, cols = [], []
        for i, x in enumerate(texts):
            for t in set(bm25_tokens(x)):
                if t in self.terms:
                    rows.append(i)
                    cols.append(self.terms[t])
        q = sp.csr_matrix((np.ones(len(rows)), (rows, cols)), shape=(len(texts), len(self.terms)))
        return (q @ self.weights).tocsr()

    def cosine(self, texts):
        vocab, matrix = self.table
        return text_vectors([vocab.ids(x) for x in texts], matrix) @ self.vectors.T

    def unit_scores(self, texts):
        """BM25 damped and scaled to 0..1, plus the weighted cosine; texts x tools, dense."""
        s = self.bm25(texts).toarray()
        s /= s.max(axis=1, keepdims=True) + DAMPING
        if self.table:
            s += COSINE_WEIGHT * self.cosine(texts)
        return s

    def scores(self, query, split=True):
        """Mean of the whole query's score and the best of its parts' scores."""
        parts = split_query(query) if split else [query]
        if len(parts) == 1:
            return self.unit_scores([query])[0]
        u = self.unit_scores([query] + parts)
        return (u[0] + u[1:].max(axis=0)) / 2

    def has_match(self, query, top):
        """The relevance floor: whether any of the best tools (`top`: their indices, best
        first) has matched enough of the query, a high cosine, or enough of both. Each
        measure is the best over the whole query and its parts."""
        parts = split_query(query)
        units = [query] + (parts if len(parts) > 1 else [])
        top = list(top)[:FLOOR_TOP]
        strength = self.bm25(units).toarray()[:, top].max(axis=0) / self.idf_unknown
        coverage = self.coverage(units)[:, top].max(axis=0)
        cosine = self.cosine(units)[:, top]
        cosine[[not self.knows(u) for u in units]] = 0
        cosine = cosine.max(axis=0)
        return bool(((coverage >= FLOOR_COVERAGE) | (cosine >= FLOOR_COSINE)
                     | (strength + coverage / 2 + cosine >= FLOOR_SUM)).any())

    def coverage(self, texts):
        """Share of the idf of a text's distinct terms that the tool has in any field."""
        out = np.zeros((len(texts), len(self.tools)))
        for i, x in enumerate(texts):
            total = 0.0
            for t in set(bm25_tokens(x)):
                k = self.terms.get(t)
                total += self.idf_unknown if k is None else self.idf[k]
                if k is not None:
                    row = self.weights.indices[self.weights.indptr[k]:self.weights.indptr[k + 1]]
                    out[i, row] += self.idf[k]
            out[i] /= max(total, 1e-9)
        return out

    def knows(self, text):
        """Whether the table has some word of the text whole (3 letters or more, no stop
        word); without one the cosine is noise."""
        runs = (r.lower() for r in RUN.findall(text))
        return any(len(r) >= 3 and r not in STOP and r in self.table[0].index for r in runs)

    def search(self, query, k=10, split=True):
        s = self.scores(query, split)
        top = np.argsort(-s, kind="stable")[:k]
        return [(int(i), float(s[i])) for i in top]
