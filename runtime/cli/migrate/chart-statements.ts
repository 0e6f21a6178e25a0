import { apiKinds } from '../../../src/api/kinds';
import type { KubeObject } from '../../../src/api/meta';
import { type JsonObject, withoutNulls } from './json';
import { modelRouteProps, serversOf } from './model-route-props';
import { modelServerProps } from './model-server-props';
import { Names } from './names';
import { quoted, typescriptLiteral } from './typescript-literal';

/** Statements that make the objects of one chart, and the classes that they need. */
export interface ChartStatements {
  readonly statements: readonly string[];
  readonly classes: ReadonlySet<string>;
}

/**
 * Kinds whose fields the classes of single objects type in full. Pod templates are typed as far as constructs write them, so a
 * ModelServing that somebody else wrote is a plain object.
 */
const SINGLE_OBJECT_CLASSES: Readonly<Record<string, string>> = {
  ModelRoute: 'KubeModelRoute',
  ModelServer: 'KubeModelServer',
  ExternalModelProvider: 'KubeExternalModelProvider',
  AutoscalingPolicy: 'KubeAutoscalingPolicy',
  AutoscalingPolicyBinding: 'KubeAutoscalingPolicyBinding',
};

const REASON = 'as it was before the move to TypeScript';

interface Context {
  /** Variable of the chart. */
  readonly chart: string;
  readonly ids: Names;
  readonly variables: Names;
  readonly classes: Set<string>;
  /** Variable of each ModelServer so far, by its name. */
  readonly servers: Map<string, string>;
  readonly routed: ReadonlySet<string>;
  /** Codes of the checks that an object fails as it is. */
  readonly failing: ReadonlyMap<KubeObject, readonly string[]>;
}

/** Writes the statements for objects of one namespace. ModelServers come first, so that routes can name them. */
export function chartStatements(
  objects: readonly KubeObject[],
  { chart, variables, failing }: Pick<Context, 'chart' | 'variables' | 'failing'>,
): ChartStatements {
  const context: Context = {
    chart,
    variables,
    failing,
    ids: Names.ids(),
    classes: new Set(),
    servers: new Map(),
    routed: new Set(objects.filter(({ kind }) => kind === 'ModelRoute').flatMap(serversOf)),
  };
  const first = objects.filter(({ kind }) => kind === 'ModelServer');
  const others = objects.filter(({ kind }) => kind !== 'ModelServer');
  return { statements: [...first, ...others].map((object) => statementOf(object, context)), classes: context.classes };
}

/** Makes an object, names it where something refers to it, and acknowledges what it is known to fail. */
function statementOf(object: KubeObject, context: Context): string {
  const { name } = object.metadata;
  const { expression, isServer } = expressionOf(object, context);
  const codes = context.failing.get(object) ?? [];
  if (codes.length === 0 && !(isServer && context.routed.has(name))) return `${expression};`;
  const variable = context.variables.variable(name, object.kind);
  if (isServer) context.servers.set(name, variable);
  const acknowledged = codes.map((code) => `\napp.findings.acknowledge(${quoted(code)}, ${variable}, ${quoted(REASON)});`);
  return `const ${variable} = ${expression};${acknowledged.join('')}`;
}

function expressionOf(object: KubeObject, context: Context): { readonly expression: string; readonly isServer: boolean } {
  const kind = isOurs(object) ? object.kind : '';
  const server = kind === 'ModelServer' ? modelServerProps(object) : undefined;
  if (server !== undefined) return { expression: newNamed('ModelServer', object, server, context), isServer: true };
  return { expression: otherExpression(kind, object, context), isServer: false };
}

function otherExpression(kind: string, object: KubeObject, context: Context): string {
  const route = kind === 'ModelRoute' ? modelRouteProps(object, context.servers) : undefined;
  if (route !== undefined) {
    const expression = newNamed('ModelRoute', object, route.props, context);
    return route.limits === undefined ? expression : `${expression}.limitTokens(${typescriptLiteral(route.limits)})`;
  }
  const id = idOf(object, context);
  const whole = withoutNamespace(object);
  if (kind === 'ModelBooster') return newConstruct('KthenaManifests', id, { objects: [whole] }, context);
  const { apiVersion, kind: _, metadata, spec, ...others } = whole;
  const className = Object.keys(others).length === 0 && spec !== undefined ? SINGLE_OBJECT_CLASSES[kind] : undefined;
  return className === undefined
    ? newConstruct('ApiObject', id, whole, context)
    : newConstruct(className, id, { metadata, spec }, context);
}

/** A construct that is called as its id, unless that is taken. */
function newNamed(className: string, object: KubeObject, props: JsonObject, context: Context): string {
  const { name } = object.metadata;
  const id = idOf(object, context);
  return newConstruct(className, id, id === name ? props : { name, ...props }, context);
}

function newConstruct(className: string, id: string, props: JsonObject, { chart, classes }: Context): string {
  classes.add(className);
  const start = `new ${className}(${chart}, ${quoted(id)}`;
  return Object.keys(props).length === 0 ? `${start})` : `${start}, ${typescriptLiteral(props, '', start.length + 4)})`;
}

function idOf({ kind, metadata: { name } }: KubeObject, { ids }: Context): string {
  return ids.free([name, `${name}-${kind.toLowerCase()}`]);
}

/** The chart says the namespace. */
function withoutNamespace(object: KubeObject): KubeObject & { readonly [field: string]: unknown } {
  const { namespace, ...metadata } = object.metadata;
  return withoutNulls({ ...object, metadata });
}

function isOurs({ apiVersion, kind }: KubeObject): boolean {
  return Object.hasOwn(apiKinds, kind) && apiKinds[kind as keyof typeof apiKinds].apiVersion === apiVersion;
}
