// Finds the keys of all texts of the page, which are in its document and in calls of t.
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../static/', import.meta.url);

export function textsOf(source) {
  const found = [];
  for (const { index } of source.matchAll(/(?<![\w$`])t`/g)) found.push(templateAt(source, index + 2).key);
  for (const [, text] of source.matchAll(/(?<![\w$])t\('((?:[^'\\]|\\.)+)'\)/g)) found.push(text);
  return found;
}

// templateAt returns the key of a template, and the index after its end. The code within
// ${} may contain other templates.
function templateAt(source, at) {
  let key = '';
  while (source[at] !== '`') {
    if (source.startsWith('${', at)) {
      at = codeAt(source, at + 2);
      key += '{}';
    } else {
      if (source[at] === '\\') at++;
      key += source[at++];
    }
  }
  return { key, end: at + 1 };
}

function codeAt(source, at) {
  for (let depth = 0; source[at] !== '}' || depth > 0;) {
    if (source[at] === '`') at = templateAt(source, at + 1).end;
    else if (source[at] === "'") at = source.indexOf("'", at + 1) + 1;
    else depth += { '{': 1, '}': -1 }[source[at++]] ?? 0;
  }
  return at + 1;
}

export function textsOfModules() {
  const modules = readdirSync(folder).filter((name) => name.endsWith('.js') && name !== 'text.js' && name !== 'zh.js');
  return modules.flatMap((name) => textsOf(readFileSync(new URL(name, folder), 'utf8')));
}

// textsOfDocument returns the texts and labels of index.html. It leaves out those without
// letters, and elements with their own language.
export function textsOfDocument() {
  const html = readFileSync(new URL('index.html', folder), 'utf8')
    .replace(/<(noscript|script)[^]*?<\/\1>/g, '').replace(/<(\w+)[^>]* lang="[^]*?<\/\1>/g, (all, tag) => (tag === 'html' ? all : ''));
  const between = [...html.matchAll(/>([^<]+)</g)].map(([, text]) => text.trim());
  const labels = [...html.matchAll(/ (?:aria-label|placeholder|name="description" content)="([^"]*)"/g)].map(([, text]) => text);
  return [...between, ...labels].map((text) => text.replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&amp;', '&')).filter((text) => /[A-Za-z]{2}/.test(text));
}
