// What is remembered between visits, in this browser alone; a page without storage forgets.

export const memory = {
  get(key) {
    try {
      return JSON.parse(localStorage.getItem(`minigrad.${key}`));
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(`minigrad.${key}`, JSON.stringify(value));
    } catch { /* there is nobody to remember it */ }
  },
};
