import { type ConstructPage, PAGE_GROUPS, type PageGroup, pageOfModule, SCHEMA_TYPES } from './construct-page-list';
import type { Declaration, DeclaredMember, PackageDeclarations } from './package-declarations';

const MADE_BY = '<!-- Made from the docstrings by `npx tsx test/helpers/write-reference.ts`. -->';
/** A resolved type that is longer says less than the name it stands for. */
const MAX_RESOLVED_TYPE = 120;

/** Every file of `docs/constructs/` by its name. Pure. */
export function constructPages({ exported, local }: PackageDeclarations): Readonly<Record<string, string>> {
  const locals = new Map(local.map((declaration) => [declaration.name, declaration]));
  const byPage = placed(exported);
  const homes = new Map([...byPage].flatMap(([page, found]) => found.map(({ name }) => [name, page] as const)));
  const pages = PAGE_GROUPS.flatMap((group) =>
    group.pages.map((page) => {
      const declarations = inOrder(byPage.get(page) ?? [], page);
      if (declarations.length === 0) throw new Error(`docs/constructs/${page.name}.md: nothing that is exported is on it`);
      const more = localsOf(declarations, locals);
      const here = new Set(more.map(({ name }) => name));
      return [`${page.name}.md`, pageText(page, group, [...declarations, ...more], { homes, locals, here, page })] as const;
    }),
  );
  return Object.fromEntries([...pages, ['README.md', indexText(byPage)]]);
}

/** @throws Error when a declaration is on no page. */
function placed(exported: readonly Declaration[]): ReadonlyMap<ConstructPage, readonly Declaration[]> {
  const byPage = new Map<ConstructPage, Declaration[]>(PAGE_GROUPS.flatMap(({ pages }) => pages.map((page) => [page, []])));
  const homeless = exported.filter((declaration) => {
    const page = pageOfModule(declaration.module);
    if (page !== undefined) byPage.get(page)!.push(declaration);
    return page === undefined;
  });
  for (const declaration of homeless) {
    const isNamedBy = (other: Declaration): boolean => new RegExp(`\\b${declaration.name}\\b`).test(namesIn(other));
    const [, found] = [...byPage].find(([, declarations]) => declarations.some(isNamedBy)) ?? [];
    if (found === undefined) {
      throw new Error(
        `${declaration.name} of ${declaration.module}.ts is on no page: add it to test/helpers/construct-page-list.ts`,
      );
    }
    found.push(declaration);
  }
  return byPage;
}

/** Source text with everything that a declaration names. */
const namesIn = ({ bases, text, members }: Declaration): string => [...bases, text, ...members.map(({ type }) => type)].join(' ');

interface Names {
  /** Page of each exported name. */
  readonly homes: ReadonlyMap<string, ConstructPage>;
  readonly locals: ReadonlyMap<string, Declaration>;
  /** Names that are not exported and described on this page nevertheless. */
  readonly here: ReadonlySet<string>;
  readonly page: ConstructPage;
}

/** The subject, its props, and the rest by module, classes first. */
function inOrder(declarations: readonly Declaration[], { subject }: ConstructPage): readonly Declaration[] {
  const rank = ({ name, kind }: Declaration): number =>
    name === subject ? 0 : name === `${subject}Props` ? 1 : subject !== undefined ? 2 : kind === 'class' ? 2 : 3;
  const key = (declaration: Declaration): string =>
    subject === undefined
      ? `${declaration.module} ${rank(declaration)} ${declaration.name}`
      : `${rank(declaration)} ${declaration.name}`;
  return [...declarations].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

function pageText(page: ConstructPage, { guide }: PageGroup, declarations: readonly Declaration[], names: Names): string {
  const { subject, about } = page;
  const [first, ...others] = subject === undefined ? [undefined, ...declarations] : declarations;
  const title = about === undefined ? `# ${subject}` : `# ${about.title}\n\n${about.text}`;
  const props = others.find((declaration) => declaration?.name === `${subject}Props`);
  const rest = others.filter((declaration) => declaration !== props);
  const sections = [
    `${title}\n\n${MADE_BY}`,
    ...(first === undefined ? [] : [introOf(first)]),
    ...(props === undefined ? [] : [sectionOf(props, names), '## Members']),
    ...(first === undefined ? [] : [membersText(first, names)]),
    ...rest.map((declaration) => sectionOf(declaration!, names)),
    `In use: [${guide}](../${guide}). All pages: [README.md](README.md).`,
  ];
  return `${sections.map((section) => section.trim()).join('\n\n')}\n`;
}

/** What the declarations name and the package does not export, but for names of one value. */
function localsOf(declarations: readonly Declaration[], locals: Names['locals']): readonly Declaration[] {
  const found = new Map<string, Declaration>();
  const visit = (declaration: Declaration): void => {
    if (declaration.kind === 'class') return;
    for (const [word] of namesIn(declaration).matchAll(/\b[A-Z]\w*/g)) {
      const local = locals.get(word);
      if (local === undefined || found.has(word) || local.module !== declaration.module || isShorthand(local)) continue;
      found.set(word, local);
      visit(local);
    }
  };
  for (const declaration of declarations) visit(declaration);
  return [...found.values()];
}

/** An alias of a part of another type, which says less to a reader than what it stands for. */
const isShorthand = ({ kind, text }: Declaration): boolean => kind === 'alias' && /\[/.test(text);

function sectionOf(declaration: Declaration, names: Names): string {
  return [`## ${declaration.name}`, introOf(declaration), membersText(declaration, names)]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** What it is for, and how it looks in a stack. */
function introOf({ docs }: Declaration): string {
  const throws = docs.throws === undefined ? '' : `Throws ${sentence(docs.throws)}`;
  const example = docs.example === undefined ? '' : `\`\`\`ts\n${docs.example.trim()}\n\`\`\``;
  return [docs.text, throws, example].filter((part) => part !== '').join('\n\n');
}

function membersText(declaration: Declaration, names: Names): string {
  const { kind, members, text, name } = declaration;
  const constants = members.filter((member) => isConstant(member, declaration));
  const fields = members.filter((member) => member.kind === 'field' && !constants.includes(member));
  const methods = members.filter((member) => member.kind === 'method');
  const prefix = kind === 'constant' ? `${name}.` : '';
  const items = methods.map((method) => ({ method, text: methodItem(method, method.isStatic ? `${name}.` : prefix, names) }));
  const itemsOf = (isStatic: boolean): string =>
    items.flatMap((item) => (item.method.isStatic === isStatic ? [item.text] : [])).join('\n');
  const parts = [
    kind === 'alias' ? `\`\`\`typescript\ntype ${name} = ${definition(text)}\n\`\`\`` : '',
    kind === 'function' ? linked(`${name}${text}`, names) : '',
    kind === 'constant' && text !== '' ? `A constant of type ${linked(text, names)}.` : '',
    constants.length === 0 ? '' : `Constants: ${constants.map((member) => `\`${name}.${member.name}\``).join(', ')}.`,
    itemsOf(true),
    kind === 'class' ? fieldTable(fields, names) : propTable(fields, names),
    basesText(declaration, names),
    itemsOf(false),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** An alias as it is read aloud: nothing of it can be written to anyway. */
const definition = (text: string): string => text.replace(/^\| /, '').replaceAll(/\breadonly /g, '');

const isConstant = ({ isStatic, kind, type }: DeclaredMember, { name }: Declaration): boolean =>
  isStatic && kind === 'field' && type === name;

/** What somebody gives: with defaults. */
function propTable(fields: readonly DeclaredMember[], names: Names): string {
  if (fields.length === 0) return '';
  const rows = fields.map((field) => {
    const given = field.docs.default;
    const fallback = given === undefined ? (field.isOptional ? '' : 'required') : literal(given);
    return `| \`${field.name}\` | ${typeText(field, names)} | ${cell(fallback)} | ${cell(field.docs.text)} |`;
  });
  return ['| prop | type | default | |', '|---|---|---|---|', ...rows].join('\n');
}

/** What somebody reads. */
function fieldTable(fields: readonly DeclaredMember[], names: Names): string {
  if (fields.length === 0) return '';
  const rows = fields.map((field) => `| \`${field.name}\` | ${typeText(field, names)} | ${cell(field.docs.text)} |`);
  return ['| member | type | |', '|---|---|---|', ...rows].join('\n');
}

function methodItem({ name, type, docs }: DeclaredMember, prefix: string, names: Names): string {
  const throws = docs.throws === undefined ? '' : `Throws ${sentence(docs.throws)}`;
  const text = [docs.text, throws].filter((part) => part !== '').join(' ');
  return `- ${linked(`${prefix}${name}${type}`, names)}${text === '' ? '' : `: ${oneLine(text)}`}`;
}

/** `Omit<PoolProps, 'gang'>` in words. Bases from other packages are not this page's matter. */
function basesText({ bases }: Declaration, names: Names): string {
  const sentences = bases.flatMap((base) => {
    const spec = /^KubeApiObject<(.*)>$/s.exec(base)?.[1];
    if (spec !== undefined) return [`Its \`spec\`: ${specText(spec, names)}.`];
    const [, wrapper, name = base, keys = ''] = /^(Omit|Pick|Partial)<(\w+)(?:, (.*))?>$/s.exec(base) ?? [];
    if (!names.homes.has(name) && !names.locals.has(name)) return [];
    const listed = [...keys.matchAll(/'([^']+)'/g)].map(([, key]) => `\`${key}\``).join(', ');
    if (wrapper === 'Omit') return [`Also all of ${linked(name, names)}, but for ${listed}.`];
    return [wrapper === 'Pick' ? `Also ${listed} of ${linked(name, names)}.` : `Also all of ${linked(name, names)}.`];
  });
  return sentences.join(' ');
}

/** A spec of a kind that has a schema is described with the other fields. */
function specText(spec: string, names: Names): string {
  const kind = /^(\w+)Manifest\['spec'\]$/.exec(spec)?.[1];
  return kind === undefined ? linked(spec, names) : `[${kind}](../reference.md#${kind.toLowerCase()})`;
}

function typeText({ type, resolvedType }: DeclaredMember, names: Names): string {
  const isOpaque = [...type.matchAll(/\b[A-Z]\w*/g)].some(([word]) => {
    const local = names.locals.get(word);
    return local !== undefined && isShorthand(local) && SCHEMA_TYPES[word] === undefined;
  });
  const plain = resolvedType.replace(/^NonNullable<([^<>]*) \| undefined>$/, '$1');
  const isPart = /\w\['/.test(type);
  return linked((isOpaque || isPart) && plain.length <= MAX_RESOLVED_TYPE ? plain : type, names);
}

/** Code in which each name that has a description leads to it. */
function linked(code: string, names: Names): string {
  const text = oneLine(code)
    .replaceAll(/\breadonly /g, '')
    .replaceAll(/Readonly<(Record<[^<>]*>)>/g, '$1');
  return text
    .split(/('[^']*'|"[^"]*"|\b[A-Z]\w*\b)/)
    .map((part, index) => {
      if (part === '') return '';
      const target = index % 2 === 0 ? undefined : targetOf(part, names);
      return target === undefined ? `\`${escaped(part)}\`` : `[\`${part}\`](${target})`;
    })
    .join('')
    .replaceAll('``', '');
}

function targetOf(name: string, { homes, page, here }: Names): string | undefined {
  const schema = SCHEMA_TYPES[name];
  if (schema !== undefined) return `../reference.md#${schema}`;
  const home = homes.get(name);
  if (home === undefined) return here.has(name) ? `#${name.toLowerCase()}` : undefined;
  const anchor = name === home.subject ? '' : `#${name.toLowerCase()}`;
  if (home === page) return anchor === '' ? undefined : anchor;
  return `${home.name}.md${anchor}`;
}

function indexText(byPage: ReadonlyMap<ConstructPage, readonly Declaration[]>): string {
  const sections = PAGE_GROUPS.map(({ title, guide, pages }) => {
    const rows = pages.map((page) => {
      const subject = byPage.get(page)!.find(({ name }) => name === page.subject);
      const text = subject?.docs.text ?? page.about!.text;
      return `| [${page.subject ?? page.about!.title}](${page.name}.md) | ${cell(firstSentence(text))} |`;
    });
    return [`## ${title}`, '', `In use: [${guide}](../${guide}).`, '', '| page | what it is |', '|---|---|', ...rows].join('\n');
  });
  const intro =
    'What a stack imports from `kvasir`: each construct and value with an example, its props, their types and defaults.';
  return `${['# Constructs', MADE_BY, intro, ...sections].join('\n\n')}\n`;
}

/** Without the layer and in front of the second sentence. */
function firstSentence(text: string): string {
  const plain = oneLine(text).replace(/^L\d: /, '');
  const sentenceText = /^.*?(?:[.:;](?= |$)|$)/.exec(plain)![0].replace(/[.:;]$/, '');
  return sentenceText[0]!.toUpperCase() + sentenceText.slice(1);
}

/** A default that is code, as code. */
const literal = (text: string): string => (/^(?:'[^'`]*'|-?\d[\d_.]*|true|false|\[\]|\{\})$/.test(text) ? `\`${text}\`` : text);

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const escaped = (text: string): string => text.replaceAll(/(?<!\\)\|/g, '\\|');

const cell = (text: string): string => escaped(oneLine(text));
