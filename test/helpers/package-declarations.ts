import { join } from 'node:path';
import {
  isClassDeclaration,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isGetAccessorDeclaration,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isObjectLiteralExpression,
  isParameterDeclaration,
  isPropertyDeclaration,
  isPropertySignatureDeclaration,
  isTypeAliasDeclaration,
  isTypeLiteralNode,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { API, type Checker, type Project, type Symbol as TsSymbol } from 'typescript/unstable/sync';

const root = join(__dirname, '../..');

/** What a docstring says. */
export interface Docs {
  /** The text before the first tag. Empty when there is none. */
  readonly text: string;
  readonly default?: string;
  readonly throws?: string;
  readonly example?: string;
}

/** A member of a class, an interface or an object. */
export interface DeclaredMember {
  readonly name: string;
  readonly kind: 'field' | 'method';
  readonly isStatic: boolean;
  readonly isOptional: boolean;
  /** Source text of a field's type; of a method, its parameters and result. Empty where the source leaves it to the compiler. */
  readonly type: string;
  /** The type of a field as the compiler sees it, for where the source names something that only its module knows. */
  readonly resolvedType: string;
  readonly docs: Docs;
}

/** One name that a module declares, exported by the package or not. */
export interface Declaration {
  readonly name: string;
  readonly kind: 'class' | 'interface' | 'alias' | 'constant' | 'function';
  /** Path of the source file from the root, without extension. */
  readonly module: string;
  readonly docs: Docs;
  /** Source text of what an interface or class extends. */
  readonly bases: readonly string[];
  readonly members: readonly DeclaredMember[];
  /** Source text: of an alias its definition, of a function its parameters and result. */
  readonly text: string;
}

/** What `kvasir` exports, and by what names its sources declare the rest. */
export interface PackageDeclarations {
  readonly exported: readonly Declaration[];
  /** What a module declares and the package does not export. */
  readonly local: readonly Declaration[];
}

type Node = Parameters<typeof isClassDeclaration>[0];

/** Reads what `constructs/index.ts` exports by the compiler, which is asked for nothing but syntax, symbols and docstrings. */
export function packageDeclarations(): PackageDeclarations {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] });
    return readDeclarations(snapshot.getProjects()[0]!);
  } finally {
    api.close();
  }
}

function readDeclarations(project: Project): PackageDeclarations {
  const { program, checker } = project;
  const index = program.getSourceFile(join(root, 'constructs/index.ts'))!;
  const symbols = checker
    .getExportsOfModule(checker.getSymbolAtLocation(index)!)
    .map((symbol) => ({ name: symbol.name, symbol: checker.getAliasedSymbol(symbol) }));
  const read = reader(project, checker);
  const exported = symbols.flatMap(({ name, symbol }) => read(name, symbol));
  const names = new Set(exported.map(({ name }) => name));
  const files = [...new Set(exported.map(({ module }) => join(root, `${module}.ts`)))];
  const local = files.flatMap((file) => {
    const source = program.getSourceFile(file)!;
    return source.statements
      .filter((node) => isInterfaceDeclaration(node) || isTypeAliasDeclaration(node))
      .filter(({ name }) => !names.has(name.text))
      .flatMap(({ name }) => read(name.text, checker.getSymbolAtLocation(name)!));
  });
  return { exported, local };
}

function reader(project: Project, checker: Checker) {
  return (name: string, symbol: TsSymbol): readonly Declaration[] => {
    const nodes = symbol.declarations.map((handle) => ({ node: handle.resolve(project)!, path: handle.path }));
    // A value and a type of one name are told as the value, which has the members.
    const { node, path } = nodes.find((found) => isVariableDeclaration(found.node)) ?? nodes[0]!;
    const common = { name, module: path.slice(root.length + 1).replace(/\.ts$/, ''), docs: docsOf(symbol, checker) };
    if (isVariableDeclaration(node)) {
      const members = membersOf(checker.getTypeOfSymbol(symbol)!.getSymbol()?.getMembers() ?? new Map(), project, checker);
      const initializer = unwrapped(node.initializer);
      const isObject = initializer !== undefined && isObjectLiteralExpression(initializer);
      const isMaker = isObject && members.some(({ kind }) => kind === 'method');
      return [
        { ...common, kind: 'constant', bases: [], members: isMaker ? members : [], text: isMaker ? '' : textOf(node.type) },
      ];
    }
    if (isFunctionDeclaration(node)) return [{ ...common, kind: 'function', bases: [], members: [], text: signatureOf(node) }];
    if (isTypeAliasDeclaration(node)) return [{ ...common, kind: 'alias', bases: [], members: [], text: textOf(node.type) }];
    if (!isClassDeclaration(node) && !isInterfaceDeclaration(node))
      throw new Error(`${name}: no page tells of such a declaration`);
    const bases = (node.heritageClauses ?? []).flatMap(({ types }) => types.map(textOf));
    const statics = isClassDeclaration(node) ? membersOf(symbol.getExports(), project, checker, true) : [];
    const members = [...statics, ...membersOf(symbol.getMembers(), project, checker)];
    return [{ ...common, kind: isClassDeclaration(node) ? 'class' : 'interface', bases, members, text: '' }];
  };
}

function membersOf(
  symbols: ReadonlyMap<string, TsSymbol>,
  project: Project,
  checker: Checker,
  isStatic = false,
): readonly DeclaredMember[] {
  return [...symbols.values()].flatMap((symbol): DeclaredMember[] => {
    const node = symbol.declarations[0]?.resolve(project);
    if (node === undefined || isConstructorDeclaration(node) || !isPublic(node)) return [];
    const common = { name: symbol.name, isStatic, docs: docsOf(symbol, checker) };
    if (isMethodDeclaration(node) || isMethodSignatureDeclaration(node)) {
      return [
        { ...common, kind: 'method', isOptional: node.postfixToken !== undefined, type: signatureOf(node), resolvedType: '' },
      ];
    }
    const { type, postfixToken, questionToken } = node as FieldNode;
    if (!isField(node)) return [];
    const isOptional = (postfixToken ?? questionToken) !== undefined;
    const resolvedType = resolvedTypeOf(symbol, checker, isOptional);
    const inner = type !== undefined && isTypeLiteralNode(type) ? innerMembers(type, symbol, project, checker) : [];
    // A field that is made where it is declared has the type of its value.
    const text = inner.length > 0 ? 'object' : textOf(type) || resolvedType;
    return [{ ...common, kind: 'field', isOptional, type: text, resolvedType }, ...inner];
  });
}

/** Fields of an object that is described in place, when they have docstrings: `retry.attempts`. */
function innerMembers(type: Node, { name }: TsSymbol, project: Project, checker: Checker): readonly DeclaredMember[] {
  const members = membersOf(checker.getTypeAtLocation(type)!.getSymbol()!.getMembers(), project, checker);
  if (members.every(({ docs }) => docs.text === '' && docs.default === undefined)) return [];
  return members.map((member) => ({ ...member, name: `${name}.${member.name}` }));
}

function resolvedTypeOf(symbol: TsSymbol, checker: Checker, isOptional: boolean): string {
  const type = checker.getTypeOfSymbol(symbol)!;
  return checker.typeToString((isOptional ? checker.getNonNullableType(type) : undefined) ?? type);
}

interface FieldNode {
  readonly type?: Node;
  readonly postfixToken?: Node;
  readonly questionToken?: Node;
}

/** Parameters of a constructor that are fields too have modifiers; those of types have none. */
function isField(node: Node): boolean {
  const isParameterField = ((node as { readonly modifiers?: readonly Node[] }).modifiers ?? []).length > 0;
  return (
    isPropertyDeclaration(node) || isPropertySignatureDeclaration(node) || isGetAccessorDeclaration(node) || isParameterField
  );
}

function isPublic(node: Node): boolean {
  const { modifiers = [] } = node as { readonly modifiers?: readonly Node[] };
  return !modifiers.some((modifier) => ['private', 'protected'].includes(modifier.getText()));
}

interface SignatureNode {
  readonly typeParameters?: readonly Node[];
  readonly parameters: readonly Node[];
  readonly type?: Node;
}

function signatureOf({ typeParameters, parameters, type }: SignatureNode): string {
  const generic = typeParameters === undefined ? '' : `<${typeParameters.map(textOf).join(', ')}>`;
  const result = type === undefined ? '' : `: ${textOf(type)}`;
  return `${generic}(${parameters.map(parameterOf).join(', ')})${result}`;
}

/** A parameter that is taken apart has no name of its own; one with a default may be left out. */
function parameterOf(parameter: Node): string {
  if (!isParameterDeclaration(parameter)) return textOf(parameter);
  const { name, type, initializer, questionToken } = parameter;
  const text = textOf(name);
  const mark = initializer === undefined && questionToken === undefined ? '' : '?';
  return `${text.startsWith('{') ? 'options' : text}${mark}${type === undefined ? '' : `: ${textOf(type)}`}`;
}

/** The value in front of `as const` and the like. */
function unwrapped(node: Node | undefined): Node | undefined {
  const { expression } = (node ?? {}) as { readonly expression?: Node };
  return expression === undefined ? node : unwrapped(expression);
}

const textOf = (node: Node | undefined): string => node?.getText() ?? '';

function docsOf(symbol: TsSymbol, checker: Checker): Docs {
  const tags = checker.getJsDocTagsOfSymbol(symbol);
  const tag = (name: string): string | undefined => tags.find((found) => found.name === name)?.text;
  const parameters = tags
    .filter(({ name, text }) => name === 'param' && text !== undefined)
    .map(({ text }) => parameterText(text!));
  return {
    text: [checker.getDocumentationCommentOfSymbol(symbol), ...parameters].filter((part) => part !== '').join('\n\n'),
    default: tag('default'),
    throws: tag('throws'),
    example: tag('example'),
  };
}

/** `name what it is` as a sentence. */
function parameterText(text: string): string {
  const [, name = '', rest = ''] = /^(\S+)\s+(.*)$/s.exec(text) ?? [];
  return `\`${name}\`: ${rest}`;
}
