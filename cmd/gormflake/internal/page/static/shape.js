// The choice of a layout, which is one with a name, that of the service or a custom one.

import { byID, showError } from './dom.js';
import { expires, layout, layouts, lowFields, mistakes, sameLayout, timeBits } from './layout.js';
import { t } from './text.js';
import { duration, isoDay, isoTime, parseTick, parseTime } from './time.js';
import { echoTime, startTimeField } from './timefield.js';

const widths = ['datacenterBits', 'workerBits', 'sequenceBits', 'totalBits'];
const fields = ['epoch', 'tick', ...widths];

export class LayoutChoice {
  #changed;
  #touched;
  #service;
  #current = layouts.twitter;
  #chosen = false;

  // changed is called after the reader has chosen another layout. touched is called
  // whenever the layout may have changed or become invalid.
  constructor(changed, touched) {
    this.#changed = changed;
    this.#touched = touched;
    byID('layout').addEventListener('change', () => this.#choose());
    byID('shape-form').addEventListener('input', () => this.#edit());
    startTimeField('shape-epoch', parseTime);
    byID('shape-form').addEventListener('submit', (event) => event.preventDefault());
    this.#show();
  }

  // layout is the last valid choice.
  get layout() {
    return this.#current;
  }

  get name() {
    return byID('layout').value;
  }

  // chosen reports whether a layout has been chosen since the start.
  get chosen() {
    return this.#chosen;
  }

  // set chooses the layout with the name, or custom if the name is custom.
  set(name, custom) {
    byID('layout').value = name;
    this.#chosen = true;
    this.#current = custom ?? this.#named(name);
    this.#touched();
    this.#show();
  }

  // unset chooses no layout, so that the reader has to. Until then layout is the last one.
  unset() {
    byID('layout').value = '';
    byID('shape-text').textContent = t`none is chosen`;
    this.#touched();
    this.#chosen = true;
  }

  // offerService adds the service's layout to the choices.
  offerService(serviceLayout) {
    this.#service = serviceLayout;
    const option = byID('layout').querySelector('[value=service]');
    option.hidden = option.disabled = false;
    const [name] = Object.entries(layouts).find(([, each]) => sameLayout(each, serviceLayout)) ?? [];
    option.textContent = name ? t`this service (${name})` : t`this service`;
  }

  // knows reports whether there is a layout with the name.
  knows(name) {
    return this.#named(name) !== undefined;
  }

  #named(name) {
    return name === 'service' ? this.#service : Object.hasOwn(layouts, name) ? layouts[name] : undefined;
  }

  #choose() {
    this.#chosen = true;
    this.#touched();
    this.#current = this.#named(this.name) ?? this.#current;
    if (this.name === 'custom') byID('shape').open = true;
    this.#show();
    this.#changed();
  }

  #edit() {
    byID('layout').value = 'custom';
    this.#chosen = true;
    this.#touched();
    const edited = this.#read();
    if (!edited) return;
    this.#current = edited;
    this.#describe();
    this.#changed();
  }

  // read returns the layout of the fields, or undefined if a field is wrong.
  #read() {
    const errors = new Map();
    const take = (field, parse) => {
      try {
        return parse(byID(`shape-${field}`).value.trim());
      } catch (error) {
        errors.set(field, error.message);
        return undefined;
      }
    };
    const read = layout(take('epoch', parseTime), take('tick', parseTick), ...widths.map((field) => take(field, parseWidth)), this.#current.sequenceFirst);
    if (errors.size === 0) mistakes(read).forEach(([field, message]) => errors.set(field, message));
    for (const field of fields) showError(`shape-${field}`, errors.get(field) ?? '');
    return errors.size === 0 ? read : undefined;
  }

  #show() {
    byID('shape-epoch').value = isoTime(this.#current.epoch);
    echoTime('shape-epoch', parseTime);
    for (const field of ['tick', ...widths]) byID(`shape-${field}`).value = `${this.#current[field]}`;
    for (const field of fields) showError(`shape-${field}`, '');
    this.#describe();
  }

  #describe() {
    byID('shape-text').textContent = describe(this.#current);
  }
}

const low = { datacenter: (bits) => t`${bits} datacenter`, worker: (bits) => t`${bits} worker`, sequence: (bits) => t`${bits} sequence` };

export function describe(l) {
  return t`${timeBits(l)} bits of ${duration(l.tick)} since ${isoTime(l.epoch)}, ${lowFields(l).map((name) => low[name](l[`${name}Bits`])).join(t`, `)}; runs out ${isoDay(expires(l))}`;
}

function parseWidth(text) {
  if (!/^[0-9]{1,2}$/.test(text) || Number(text) > 63) throw new SyntaxError(t`${JSON.stringify(text)}: want 0 to 63`);
  return Number(text);
}
