// Short functions for elements. They set text only as text, never as HTML.

export function byID(id) {
  return document.getElementById(id);
}

// el returns a new element. It leaves out attributes that are undefined.
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const filled = new WeakMap();

// fill replaces the children of the element by those that make returns, unless it was
// filled with the same key before. The browser's layout of new elements takes most time.
export function fill(element, key, make) {
  if (filled.get(element) === key) return;
  filled.set(element, key);
  element.replaceChildren(...make());
}

// dayAndHour returns elements for a time that can wrap only between its day and its hour.
export function dayAndHour(time) {
  return time.split(/(?<=T)/).map((part) => el('span', { class: 'whole' }, part));
}

// showError shows a sentence next to a field, or removes it if the message is empty.
export function showError(field, message) {
  byID(`${field}-error`).textContent = message;
  const input = byID(field);
  if (!input?.matches('input, select, textarea')) return; // the field is a form or a section
  if (message) input.setAttribute('aria-invalid', 'true');
  else input.removeAttribute('aria-invalid');
}

// announce lets screen readers speak the message.
export function announce(message) {
  byID('status').textContent = message;
}
