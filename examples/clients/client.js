// The page: what client.mjs prints, as tables.

import { isWrong, lost, tryAll } from './ids.mjs';

const $ = (id) => document.getElementById(id);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// marked underlines the wrong digits.
function marked(id, sent) {
  return [...sent].map((digit, i) => (isWrong(id, sent, i) ? element('mark', {}, digit) : digit));
}

function table({ id, rows }) {
  return element('table', {},
    element('caption', {}, 'Taken: ', element('span', { className: 'digits' }, id)),
    element('thead', {}, element('tr', {},
      ...['Kept as', 'Sent back as', 'Came back'].map((title) => element('th', { scope: 'col' }, title)))),
    element('tbody', {}, ...rows.map((row) => element('tr', {},
      element('th', { scope: 'row' }, row.name),
      element('td', { className: 'digits' }, ...marked(id, row.sent)),
      element('td', { className: row.kept ? 'good' : 'bad' }, row.note)))));
}

function show(result) {
  $('service').replaceChildren(...result.service.map(table));
  $('orders').replaceChildren(...result.orders.map(table));
  const { ids, strings, numbers } = result.crowd;
  $('crowd').textContent = `${ids} IDs taken at once are ${strings} different strings and ${numbers} different numbers.`;
  $('results').hidden = false;
}

function say(text, className) {
  Object.assign($('outcome'), { textContent: text, className });
}

async function run() {
  $('run').disabled = true;
  say('Under way …', '');
  try {
    const result = await tryAll({ ids: '', orders: '' }); // this server passes them on
    const sentences = lost(result);
    show(result);
    if (sentences.length > 0) say(sentences.join(' '), 'bad');
    else say('Strings and BigInt lost no digit.', 'good');
  } catch (error) {
    say(error.message, 'bad');
  } finally {
    $('run').disabled = false;
  }
}

$('run').addEventListener('click', run);
