import { describeObject, keyOf } from '../../../src/api/meta';
import { findingLine } from '../../../src/errors';
import { explainTargets } from '../../router/routing/explain-match';
import { type Look, objectsOf } from '../look/look';
import { routeTableOf } from '../look/model-views';
import { named } from '../look/named';
import { serverViews } from '../look/server-view';
import { type Explanation, section } from './explanation';
import { routeExtras, routeHead, ruleText, targetLines, wantedText } from './route-text';

/** What a ModelRoute does: when it is asked, its rules in order, and where each sends requests. */
export function explainRoute(look: Look, name: string, namespace: string | undefined): Explanation {
  const route = named(name, objectsOf(look, 'ModelRoute'), 'route', namespace);
  const table = routeTableOf(look);
  const servers = serverViews(look);
  const compiled = [
    ...new Set([...(route.spec.modelName ? [route.spec.modelName] : []), ...(route.spec.loraAdapters ?? [])]),
  ].map((model) => ({ model, asked: table.asked(model) }));
  const conditionsOf = (index: number) =>
    compiled.flatMap(({ asked }) => asked).find((each) => each.route === route)?.rules[index]?.conditions ?? [];
  const rules = route.spec.rules.map((rule, index) => ({
    rule,
    index,
    conditions: conditionsOf(index).map(({ field, wanted }) => `${field} ${wantedText(wanted)}`),
    targets: explainTargets(table, route, rule),
  }));
  const order = compiled.flatMap(({ model, asked }) => {
    const place = asked.findIndex((each) => each.route === route);
    if (place === -1) return [`${model}: it is a base model of another route, so that this route never gets it as an adapter`];
    const before = asked.slice(0, place).map((each) => describeObject(each.route));
    return before.length === 0
      ? []
      : [
          `${model}: ${before.join(', ')} ${before.length === 1 ? 'is' : 'are'} older and asked first; what they match does not come here`,
        ];
  });
  const problems = look.findings.filter(({ object }) => object === describeObject(route));
  const gateways = (route.spec.parentRefs ?? []).map((parent) => parent.name);
  return {
    lines: [
      routeHead(route),
      ...(gateways.length === 0
        ? []
        : section('gateways', [`serves only requests that come through ${gateways.join(', ')}; this router sends it none`])),
      ...section('order', order),
      ...rules.flatMap(({ rule, index, conditions, targets }) => [
        ...section('rule', [
          `${ruleText(index, rule).replace(/^rule /, '')}: ${conditions.length === 0 ? 'takes every request' : `when ${conditions.join(', and ')}`}`,
        ]),
        ...section(
          '',
          targetLines(route, targets, servers, look).map((line) => `  ${line}`),
        ),
        ...(rule.shadow === undefined
          ? []
          : section('', [
              `  ${rule.shadow.percent} % are copied to ModelServer ${rule.shadow.modelServerName}, whose answers nobody sees`,
            ])),
      ]),
      ...section('and', routeExtras(route)),
      ...problems.map((problem) => `${problem.severity}: ${findingLine(problem)}`),
    ],
    document: {
      route: keyOf(route),
      modelName: route.spec.modelName ?? null,
      loraAdapters: route.spec.loraAdapters ?? [],
      gateways,
      order,
      rules: rules.map(({ rule, index, conditions, targets }) => ({
        index,
        name: rule.name ?? null,
        conditions,
        targets: targets.map(({ target, share, isThere }) => ({ ...target, share, isThere })),
        shadow: rule.shadow ?? null,
      })),
      problems,
    },
  };
}
