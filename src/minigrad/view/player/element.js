// <minigrad-player>: a player in a page, its styles in a shadow root. Inside it are the picture, so
// that there is something to see without a script, and the play as JSON, or as a string of JSON that
// is that deflated, in base64: a fifth of its size.
//
//   start, fault   where it opens; `#step=12&fault=overwrite` in the address comes before them, with
//                  an id in front of each, `#id.step=12`, if the element has one; `open` in it are
//                  the boxes that are open
//   compact, fill  less around the picture; fills its element instead of growing with the picture
//   takes-focus    has the keys at once, where it is the page's only business
//   lang           "es" for Spanish, also on an element around it; data-theme: "dark" or "light" too
//
// A script can have it without the element: customElements.get("minigrad-player").mount(where, what).

class MinigradPlayer extends HTMLElement {
  static mount = mount;

  connectedCallback() {
    // A parser may call this before the children are there.
    if (document.readyState === "loading") {
      document.addEventListener("DOMContentLoaded", () => this.#open(), { once: true });
    } else {
      this.#open();
    }
  }

  disconnectedCallback() {
    this.#ending?.abort();
    this.player?.destroy();
    this.player = null;
  }

  // Show another play, as `mount` takes it.
  update(given) {
    if (!this.player) return this.#show(given);
    this.#given = given;
    this.player.update(given);
  }

  #ending = null;
  #given = null; // what it shows, also while it is moved to another place of the page

  async #open() {
    if (this.player || !this.isConnected) return;
    this.#ending?.abort();
    this.#ending = new AbortController();
    const { signal } = this.#ending;
    addEventListener("hashchange", () => this.#follow(), { signal });
    const given = this.#given ?? (await this.#inside());
    // A script may have called update() meanwhile; without anything inside it will.
    if (given && !this.player && !signal.aborted) this.#show(given);
  }

  async #inside() {
    const payload = this.querySelector('script[type="application/json"]');
    if (!payload) return null;
    const told = JSON.parse(payload.textContent);
    const given = typeof told === "string" ? JSON.parse(await inflated(told)) : told;
    if (this.player) return null;
    const svg = this.querySelector("svg");
    svg?.remove(); // the player shows it, or another
    if (svg && given.pictures) given.pictures[svg.dataset.rankdir] = svg;
    return given;
  }

  #show(given) {
    this.#given = given;
    const asked = this.#asked();
    const lang = this.closest("[lang]")?.lang.slice(0, 2);
    const start = asked.frame ?? this.getAttribute("start") ?? 0;
    const fault = asked.fault ?? this.getAttribute("fault") ?? "";
    // A frame without an address of its own, as in a notebook, has no links to offer.
    const link = location.protocol === "about:" ? null : (...place) => this.#address(...place);
    const open = asked.open && { open: asked.open, asked: true };
    this.player = mount(this, { lang, start, fault, link, fill: this.hasAttribute("fill"), ...given, ...open });
    const main = this.shadowRoot.querySelector("main");
    if (this.hasAttribute("takes-focus") && window === window.parent) main.focus({ preventScroll: true });
  }

  // ---- links to a step -------------------------------------------------------------------------

  #key = (name) => (this.id ? `${this.id}.${name}` : name);

  #address(frame, fault, open) {
    const place = new URLSearchParams([[this.#key("step"), frame]]);
    if (fault) place.set(this.#key("fault"), fault);
    for (const box of open ? ["", ...open] : []) place.append(this.#key("open"), box);
    return `#${place}`;
  }

  #asked() {
    const place = new URLSearchParams(location.hash.slice(1));
    const frame = place.get(this.#key("step"));
    if (frame === null || !/^\d+$/.test(frame)) return {};
    const open = place.has(this.#key("open")) ? place.getAll(this.#key("open")).filter(Boolean) : undefined;
    return { frame: Number(frame), fault: place.get(this.#key("fault")) ?? "", open };
  }

  #follow() {
    const { frame, fault, open } = this.#asked();
    if (frame !== undefined) this.player?.go(frame, fault, open);
  }
}

if (!customElements.get("minigrad-player")) customElements.define("minigrad-player", MinigradPlayer);
