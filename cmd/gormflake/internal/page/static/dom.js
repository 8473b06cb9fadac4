// Short ways to elements. Text is only ever set as text.

export function byID(id) {
  return document.getElementById(id);
}

// el makes an element; an attribute that is undefined is left out.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const filled = new WeakMap();

// fill gives the element the children that make returns, unless it has those of
// the same key: what is laid out again costs more than all else.
export function fill(element, key, make) {
  if (filled.get(element) === key) return;
  filled.set(element, key);
  element.replaceChildren(...make());
}

// dayAndHour lets a time wrap between its day and its hour, where there is no room.
export function dayAndHour(time) {
  return time.split(/(?<=T)/).map((part) => el('span', { class: 'whole' }, part));
}

// showError puts a sentence next to a field, or takes it away.
export function showError(field, message) {
  byID(`${field}-error`).textContent = message;
  const input = byID(field);
  if (!input) return;
  if (message) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}

// announce has screen readers say what changed.
export function announce(message) {
  byID('status').textContent = message;
}
