import { readFileSync } from 'node:fs';
import { describeObject, keyOf } from '../../../src/api/meta';
import { defaultRouterConfig } from '../../../src/config/router-config';
import { KvasirError } from '../../../src/errors';
import { ROUTER_ERRORS, RouterError } from '../../router/errors';
import { ApiPaths, canonicalPath } from '../../router/request/api-paths';
import { UNMATCHED_ERRORS } from '../../router/request/match-request';
import { type ParsedBody, parseNow } from '../../router/request/parse-body';
import { type ExplainedMatch, type ExplainedRoute, explainMatch } from '../../router/routing/explain-match';
import type { Look } from '../look/look';
import { routeTableOf } from '../look/model-views';
import { type ServerView, serverViews } from '../look/server-view';
import { type Explanation, section } from './explanation';
import { routeExtras, ruleText, targetLines, wantedText } from './route-text';

/** A request as a person describes it. */
export interface RequestFlags {
  readonly model?: string;
  readonly path?: string;
  /** `name: value`, each. */
  readonly header: readonly string[];
  /** JSON, or `@file`. */
  readonly body?: string;
}

const DEFAULT_PATH = '/v1/chat/completions';

/**
 * Which route, rule and target a request takes, and why: by the router's own reading of paths and bodies, and its own table of routes.
 *
 * @throws KvasirError for flags that describe no request.
 */
export function explainRequest(look: Look, flags: RequestFlags): Explanation {
  const target = flags.path ?? DEFAULT_PATH;
  const headers = headersOf(flags.header);
  const body = bodyOf(flags);
  const asked = `POST ${target}`;
  let parsed: ParsedBody;
  let path: string;
  try {
    path = pathOf(target);
    parsed = parseNow(body, new ApiPaths().find('POST', path), { maxDepth: defaultRouterConfig().limits.jsonDepth });
  } catch (error) {
    if (!(error instanceof RouterError)) throw error;
    return refused(asked, error.code, error.message, []);
  }
  const explained = explainMatch(routeTableOf(look), { path, headers, model: parsed.model }, 'POST');
  const head = `${asked}, model ${JSON.stringify(parsed.model)}${explained.isAdapter ? ', an adapter' : ''}`;
  const askedLines = section('asked', explained.routes.flatMap(routeLines));
  if (explained.outcome.kind === 'unmatched') {
    const { reason, message } = explained.outcome;
    return refused(
      head,
      UNMATCHED_ERRORS[reason],
      `${message}; ${ROUTER_ERRORS[UNMATCHED_ERRORS[reason]].remedy}`,
      askedLines,
      explained,
    );
  }
  const { route, rule, targets } = explained.outcome;
  const servers = serverViews(look);
  return {
    lines: [
      head,
      ...askedLines,
      ...section('takes', [`${describeObject(route)}, ${ruleText(rule.index, rule.rule)}`]),
      ...section('target', targetLines(route, targets, servers, look)),
      ...section('sent as', upstreamNames(explained, parsed.model, servers)),
      ...section('and', [...routeExtras(route), ...bodyExtras(parsed)]),
    ],
    document: {
      request: { path, model: parsed.model, streams: parsed.streams, promptTokens: parsed.promptTokens },
      isAdapter: explained.isAdapter,
      routes: routeDocuments(explained),
      outcome: {
        kind: 'matched',
        route: keyOf(route),
        rule: rule.index,
        targets: targets.map(({ target: each, share, isThere }) => ({ ...each, share, isThere })),
      },
    },
  };
}

function routeLines({ route, verdict, rules }: ExplainedRoute): readonly string[] {
  const name = describeObject(route);
  switch (verdict) {
    case 'gateway-only':
      return [`${name}: no, it serves only the Gateways in its parentRefs`];
    case 'not-asked':
      return [`${name}: not asked, an older route has decided`];
    default:
      return [
        `${name}${verdict === 'no-weight' ? ': a rule matches, and the weights of its targets are all zero' : ''}`,
        ...rules.map(({ index, rule, verdict: of, conditions }) => {
          const failed = conditions.filter(({ holds }) => !holds);
          const why = failed.map(
            ({ field, wanted, value }) => `${field} ${wantedText(wanted)}, and not ${JSON.stringify(value)}`,
          );
          const held = conditions.map(({ field, wanted }) => `${field} ${wantedText(wanted)}`);
          const text =
            of === 'not-asked'
              ? 'not asked, an earlier rule has decided'
              : of === 'fails'
                ? `no: ${why.join('; ')}`
                : `yes: ${held.length === 0 ? 'it has no conditions' : held.join(', and ')}`;
          return `  ${ruleText(index, rule)}  ${text}`;
        }),
      ];
  }
}

/** The names by which engines and providers are asked. */
function upstreamNames(
  { outcome, isAdapter }: ExplainedMatch,
  model: string,
  servers: ReadonlyMap<string, ServerView>,
): readonly string[] {
  if (outcome.kind !== 'matched') return [];
  const namespace = outcome.route.metadata.namespace ?? 'default';
  const names = outcome.targets
    .filter(({ isThere, share, target }) => isThere && share > 0 && target.modelServerName)
    .map(({ target }) => (isAdapter ? model : servers.get(`${namespace}/${target.modelServerName}`)?.server.spec.model || model));
  return [...new Set(names)].filter((name) => name !== model).map((name) => `model ${JSON.stringify(name)}`);
}

function bodyExtras({ guarded = [], promptTokens }: ParsedBody): readonly string[] {
  return [
    ...(promptTokens > 1 ? [`its prompt is about ${promptTokens} tokens`] : []),
    ...(guarded.length === 0 ? [] : [`${guarded.join(', ')} would be removed: requests.allowMembers does not name it`]),
  ];
}

function refused(
  head: string,
  code: keyof typeof ROUTER_ERRORS,
  message: string,
  asked: readonly string[],
  explained?: ExplainedMatch,
): Explanation {
  const { status } = ROUTER_ERRORS[code];
  return {
    lines: [head, ...asked, ...section('refused', [`${status} ${code}: ${message}`])],
    document: {
      routes: explained === undefined ? [] : routeDocuments(explained),
      outcome: { kind: 'refused', status, code, message },
    },
  };
}

function routeDocuments({ routes }: ExplainedMatch): readonly object[] {
  return routes.map(({ route, verdict, rules }) => ({
    route: keyOf(route),
    verdict,
    rules: rules.map(({ index, verdict: of, conditions }) => ({ index, verdict: of, conditions })),
  }));
}

function pathOf(target: string): string {
  const path = canonicalPath(target);
  if (path === undefined) throw new RouterError('invalid_path', 'the path is not canonical');
  return path;
}

function headersOf(given: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    given.map((header) => {
      const colon = header.indexOf(':');
      if (colon > 0) return [header.slice(0, colon).trim().toLowerCase(), header.slice(colon + 1).trim()];
      throw mistake('--header', `${JSON.stringify(header)} is no header`, "write name: value, such as --header 'x-user: alice'");
    }),
  );
}

/** The request's body: as it was given, or one that names the model alone. */
function bodyOf({ model, body }: RequestFlags): Buffer {
  if (model !== undefined && body !== undefined) {
    throw mistake('--model', 'contradicts --body, which names a model itself', 'give one of the two');
  }
  if (body === undefined) {
    if (model === undefined) throw mistake('--model', 'is missing', 'say which model the request asks for, or give --body');
    return Buffer.from(JSON.stringify({ model }));
  }
  if (!body.startsWith('@')) return Buffer.from(body);
  try {
    return readFileSync(body.slice(1));
  } catch (error) {
    throw mistake(
      '--body',
      `${body.slice(1)} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      'give JSON, or @ and a file',
    );
  }
}

function mistake(field: string, message: string, remedy: string): KvasirError {
  return new KvasirError({ code: 'cli/request', field, message, remedy });
}
