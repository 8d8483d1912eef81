"use strict";
// The page sends what is set; all that it shows comes from the server, where every name and label becomes text.

const byId = (id) => document.getElementById(id);
const all = (selector) => [...document.querySelectorAll(selector)];

function setting() {
  return {
    levels: all(".level").map((slider) => Number(slider.value)),
    texts: all(".field").map((field) => field.value),
    method: byId("method").value,
  };
}

async function ask(what, more = {}) {
  let answer;
  try {
    answer = await fetch(what, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...setting(), ...more }),
    });
  } catch {
    throw new Error("duckanon explore does not answer: is it still running?");
  }
  const told = (answer.headers.get("content-type") || "").startsWith("application/json")
    ? await answer.json()
    : { error: await answer.text() };
  if (!answer.ok) throw new Error(told.error);
  return told;
}

// What goes wrong is said, and what was shown stays.
async function tried(work) {
  try {
    await work();
    byId("wrong").textContent = "";
  } catch (error) {
    byId("wrong").textContent = error.message;
  }
}

// -- what is set ------------------------------------------------------------------------------------

let asking = false;
let again = false;

// One question at a time: what has changed meanwhile is asked when the last answer has come.
async function changed() {
  again = true;
  if (asking) return;
  asking = true;
  await tried(async () => {
    while (again) {
      again = false;
      show(await ask("figures"));
      if (again) continue;
      const more = await ask("more");
      byId("sizes").innerHTML = more.sizes;
      byId("sample").innerHTML = more.sample;
    }
  });
  asking = false;
}

function show(told) {
  byId("figures").innerHTML = told.figures;
  told.columns.forEach((column, at) => {
    byId(`level-${at}`).setAttribute("aria-valuetext", column.words);
    byId(`words-${at}`).textContent = column.words;
    byId(`column-${at}`).innerHTML = column.html;
  });
  byId("verdict").textContent = told.said;
  byId("verdict").className = `verdict ${told.holds ? "good" : "bad"}`;
}

function take(chosen) {
  const { levels, texts, method } = chosen;
  if (levels) all(".level").forEach((slider, at) => { slider.value = levels[at]; });
  if (texts) texts.forEach((text, at) => { byId(`field-${at}`).value = text; });
  if (method) byId("method").value = method;
  changed();
}

async function search() {
  byId("searched").textContent = "Searching …";
  await tried(async () => {
    const told = await ask("search");
    byId("found").innerHTML = told.html;
    if (told.levels) take({ levels: told.levels });
  });
  byId("searched").textContent = "";
}

// -- what is compared -------------------------------------------------------------------------------

let watching = false;
let shown = "";

async function watch(told) {
  if (watching) return;
  watching = true;
  await tried(async () => {
    for (;;) {
      byId("progress").setAttribute("aria-live", told.running ? "off" : "polite");
      byId("progress").textContent = told.said;
      byId("stop").hidden = !told.running;
      // A point or name that has the focus would lose it.
      if (told.html !== shown && !byId("front").contains(document.activeElement)) {
        byId("front").innerHTML = shown = told.html;
      }
      if (!told.running && told.html === shown) break;
      await new Promise((done) => setTimeout(done, 400));
      told = await ask("compared");
    }
  });
  watching = false;
}

async function compare() {
  await tried(async () => {
    watch(await ask("compare", {
      k: byId("grid-k").value,
      suppression: byId("grid-suppression").value,
      methods: byId("grid-methods").value,
    }));
  });
}

// -- what is saved ----------------------------------------------------------------------------------

async function save() {
  byId("saved").textContent = "";
  await tried(async () => {
    const told = await ask("save", { name: byId("name").value, pinned: byId("pinned").checked });
    const said = document.createElement("p");
    said.textContent = `Saved as ${told.path}. To run it:`;
    const command = document.createElement("pre");
    command.textContent = told.command;
    byId("saved").append(said, command);
  });
}

// -- who does what ----------------------------------------------------------------------------------

byId("settings").addEventListener("input", changed);
byId("settings").addEventListener("submit", (event) => { event.preventDefault(); changed(); });
byId("search").addEventListener("click", search);
byId("grid").addEventListener("submit", (event) => { event.preventDefault(); compare(); });
byId("stop").addEventListener("click", () => tried(() => ask("stop")));
byId("save").addEventListener("submit", (event) => { event.preventDefault(); save(); });

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-take]");
  if (button) take(JSON.parse(button.dataset.take));
  const point = event.target.closest(".front a");
  if (point) {
    event.preventDefault();
    take(JSON.parse(byId(point.getAttribute("href").slice(1)).dataset.take));
  }
});

tried(async () => watch(await ask("compared")));
