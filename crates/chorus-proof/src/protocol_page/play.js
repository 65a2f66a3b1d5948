// The tiny machine: a reader chooses moves on the graph of all states that the controllers reach.

/** A state of the graph by its number, with names in place of positions. */
function stateOf(number) {
  const [views, memory, messages, moves] = data.states[number];
  return {
    views: views.map((view) => data.views[view]),
    memory,
    messages: messages.map((message) => data.messages[message]),
    moves: moves.map(([delivers, rows, to]) => ({ delivers, rows: rows.map((row) => data.rows[row]), to })),
  };
}

class PlayedMachine {
  constructor(place) {
    this.start = 0;
    this.chart = new SequenceChart(data.columns);
    this.agents = element("div", { class: "agents" });
    this.moves = element("div", { class: "moves", role: "group", "aria-label": "Moves" });
    this.tools = element(
      "div",
      { class: "tools", role: "toolbar", "aria-label": "Game" },
      button("Undo", { "data-tool": "undo" }, () => this.undo()),
      button("Start again", { "data-tool": "again" }, () => this.again()),
      button("Any move", { "data-tool": "any" }, () => this.any()),
      button("Until all is delivered", { "data-tool": "settle" }, () => this.settle()),
    );
    place.replaceChildren(this.tools, this.agents, this.moves, this.chart.node);
    this.again();
  }

  again() {
    this.current = 0;
    this.path = [];
    this.show();
  }

  undo() {
    if (this.path.length === 0) return;
    this.current = this.path.pop().before;
    this.show();
  }

  /** Makes a move. */
  make(move) {
    this.path.push({ before: this.current, rows: move.rows });
    this.current = move.to;
    this.show();
    say(move.rows.map((row) => [row.label, ...row.states].join(", ")).join("; "));
  }

  any() {
    const { moves } = stateOf(this.current);
    if (moves.length > 0) this.make(moves[Math.floor(Math.random() * moves.length)]);
  }

  /** Delivers messages, the first one each time, until none can arrive. Waiting messages may never be taken alone. */
  settle() {
    for (let step = 0; step < 100; step += 1) {
      const delivery = stateOf(this.current).moves.find((move) => move.delivers !== null);
      if (!delivery) return;
      this.make(delivery);
    }
  }

  show() {
    const state = stateOf(this.current);
    this.agents.replaceChildren(...this.cardsOf(state));
    this.moves.replaceChildren(...this.groupsOf(state));
    this.chart.show(this.path.flatMap((step) => step.rows));
  }

  /** A card for each cache, each bank and memory, with the state of the line. */
  cardsOf(state) {
    const before = this.path.length > 0 ? stateOf(this.path.at(-1).before) : state;
    const cards = state.views.map(([name, values, sharers], index) => {
      const changed = String(before.views[index]) !== String(state.views[index]);
      return element(
        "section",
        { class: changed ? "agent changed" : "agent" },
        element("b", {}, data.columns[data.threads + index]),
        element("span", { class: "state-name" }, name),
        element("span", { class: "soft" }, values || "no value"),
        element("span", { class: "soft" }, sharers ? `sharers: ${sharers}` : ""),
      );
    });
    const words = element("span", {}, state.memory.join(" "));
    return [...cards, element("section", { class: "agent" }, element("b", {}, "Memory"), words)];
  }

  /** The moves as buttons, by what they are: operations, messages that arrive, and all else. */
  groupsOf(state) {
    const groups = { "Threads do": [], "Messages arrive": [], "Lines leave, time passes": [] };
    for (const move of state.moves) {
      const first = move.rows[0];
      const label = first ? first.label : "a message waits";
      if (move.delivers !== null) {
        const message = state.messages[move.delivers];
        const route = `${data.columns[message.from]} → ${data.columns[message.to]}`;
        groups["Messages arrive"].push(button(`${message.label} (${route})`, {}, () => this.make(move)));
      } else if (first && first.from !== null && first.from < data.threads) {
        groups["Threads do"].push(button(`${data.columns[first.from]}: ${label}`, {}, () => this.make(move)));
      } else {
        const where = first ? `${data.columns[first.to]}: ` : "";
        groups["Lines leave, time passes"].push(button(`${where}${label}`, {}, () => this.make(move)));
      }
    }
    const named = Object.entries(groups).filter(([, buttons]) => buttons.length > 0);
    const rows = named.map(([name, buttons]) => element("p", {}, element("b", {}, name), ...buttons));
    return rows.length > 0 ? rows : [element("p", { class: "soft" }, "Nothing is left to do.")];
  }
}

/** Shows the arrows that leave a state while a reader points at it. */
function highlightStates() {
  for (const state of document.querySelectorAll(".diagram .state")) {
    const leaving = state.closest("svg").querySelectorAll(`.change[data-from="${state.dataset.state}"]`);
    const mark = (isOn) => leaving.forEach((change) => change.classList.toggle("on", isOn));
    state.addEventListener("pointerenter", () => mark(true));
    state.addEventListener("pointerleave", () => mark(false));
  }
}

if (data) new PlayedMachine(document.getElementById("machine"));
highlightStates();
