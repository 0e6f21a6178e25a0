import * as models from '@kubernetes/client-node';

interface Attribute {
  readonly name: string;
  readonly baseName: string;
  readonly type: string;
}

interface Model {
  getAttributeTypeMap(): readonly Attribute[];
}

const MODELS = models as unknown as Readonly<Record<string, Model | undefined>>;

/** Unknown fields and wrong primitives of an object of a core kind, each with its path, by the types of the Kubernetes client. */
export function coreObjectProblems(object: { readonly apiVersion: string; readonly kind: string }): readonly string[] {
  const version = object.apiVersion.split('/').at(-1)!;
  const type = `${version[0]!.toUpperCase()}${version.slice(1)}${object.kind}`;
  if (MODELS[type] === undefined) return [`${object.apiVersion} ${object.kind} is no core kind`];
  return problems(object, type, '');
}

function problems(value: unknown, type: string, path: string): readonly string[] {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((element, index) => problems(element, list, `${path}[${index}]`));
  }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) return fieldsOf(value, path, (key) => ({ type: map, path: `${path}.${key}` }));
  switch (type) {
    case 'any':
    case 'object':
      return [];
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type ? [] : [`${path} is ${JSON.stringify(value)}, no ${type}`];
    case 'Date':
      return typeof value === 'string' ? [] : [`${path} is ${JSON.stringify(value)}, no time`];
    case 'IntOrString':
      return Number.isInteger(value) || typeof value === 'string'
        ? []
        : [`${path} is ${JSON.stringify(value)}, no int or string`];
  }
  const model = MODELS[type];
  if (model === undefined) return [`${path} has the unknown type ${type}`];
  const attributes = new Map(model.getAttributeTypeMap().map((attribute) => [attribute.baseName, attribute]));
  return fieldsOf(value, path, (key) => {
    const attribute = attributes.get(key);
    return attribute === undefined ? undefined : { type: attribute.type, path: path === '' ? key : `${path}.${key}` };
  });
}

function fieldsOf(
  value: unknown,
  path: string,
  typeOf: (key: string) => { readonly type: string; readonly path: string } | undefined,
): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [`${path} is ${JSON.stringify(value)}, no object`];
  return Object.entries(value).flatMap(([key, child]) => {
    const field = typeOf(key);
    return field === undefined
      ? [`${path === '' ? key : `${path}.${key}`} is no field`]
      : problems(child, field.type, field.path);
  });
}
