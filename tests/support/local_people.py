"""The people under every local method."""

from __future__ import annotations

from tests.support.people import PEOPLE

LEVELS = 'levels = { 1 = ["HIV", "cancer"], 2 = ["asthma", "cough"], 3 = ["flu"] }\nlevel_l = 2\n'
METHODS = {
    "climb": "l = 2\n",
    "alpha_k_clustering": "alpha = 0.7\n[sensitive.disease.values.HIV]\nalpha = 0.5\n",
    "l_c_clustering": "alpha = 0.7\n[sensitive.disease.values.HIV]\nl = 3\nsensitivity = 0.9\n",
    "alpha_l_diversification": LEVELS + "level_alpha = { 1 = 0.7 }\n",
}
TARGETS = {"table": "out", "view": "out", "parquet": "out.parquet", "csv": "out.csv"}


def policy(method: str, kind: str = "table", suppression: str = "0.1") -> str:
    text = PEOPLE.replace("l = 2\n", METHODS[method]).replace("suppression = 0.1", f"suppression = {suppression}")
    text = text.replace('kind = "table"\nto = "people_anonymous"', f'kind = "{kind}"\nto = "{TARGETS[kind]}"')
    return text + f'[search]\nmethod = "{method}"\n'
