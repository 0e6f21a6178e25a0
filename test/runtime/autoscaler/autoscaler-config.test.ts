import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  autoscalerConfigSchema,
  decodeAutoscalerConfig,
  defaultAutoscalerConfig,
  parseAutoscalerConfig,
} from '../../../src/config/autoscaler-config';
import { findingLine } from '../../../src/errors';

const autoscaler = join(__dirname, '../../../runtime/autoscaler');
const sources = readdirSync(autoscaler, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => readFileSync(join(autoscaler, file), 'utf8'))
  .join('\n');

describe("the autoscaler's configuration", () => {
  it('is all defaults when it is empty', () => {
    expect(parseAutoscalerConfig('')).toEqual({ kind: 'valid', config: defaultAutoscalerConfig() });
    expect(defaultAutoscalerConfig()).toEqual({
      syncPeriodMs: 15_000,
      algorithm: 'default',
      scrapeTimeoutMs: 3000,
      scrapeConcurrency: 32,
      metricWindowMs: 60_000,
      histogramPercentile: 95,
      allowCrossNamespaceTargets: false,
      dryRun: false,
      drainTimeoutMs: 300_000,
      routerApp: 'kvasir-router',
      routerMetricsPort: 9090,
      budgets: [],
      prometheusServers: [],
      leaseName: 'kvasir-autoscaler',
      leaseDurationMs: 15_000,
      leaseRenewDeadlineMs: 10_000,
      leaseRetryPeriodMs: 2_000,
      explainedRounds: 60,
    });
  });

  it.each(Object.keys(autoscalerConfigSchema.properties))('%s has a reader in the autoscaler', (field) => {
    expect(sources).toMatch(new RegExp(`config\\.${field}\\b`));
  });

  it.each(Object.entries(defaultAutoscalerConfig()))('%s is documented with its default %s', (field, value) => {
    const page = readFileSync(join(__dirname, '../../../docs/autoscaler.md'), 'utf8');
    expect(page).toContain(`| \`${field}\` | \`${Array.isArray(value) ? '[]' : value}\` |`);
  });

  it('takes what is written and leaves the rest at its defaults', () => {
    expect(parseAutoscalerConfig('syncPeriodMs: 5000\nalgorithm: kthena\n')).toMatchObject({
      kind: 'valid',
      config: { syncPeriodMs: 5000, algorithm: 'kthena', scrapeTimeoutMs: 3000 },
    });
  });

  it.each([
    [
      'syncPeriodMs: 5',
      'a.yaml: syncPeriodMs: 5 is out of range; write a whole number from 100 to 3600000 [config/invalid-value]',
    ],
    ['algorithm: hpa', 'a.yaml: algorithm: "hpa" is no algorithm; write default or kthena [config/invalid-value]'],
    [
      'allowCrossNamespaceTargets: maybe',
      'a.yaml: allowCrossNamespaceTargets: "maybe" is neither true nor false; write true or false [config/invalid-value]',
    ],
    [
      'budgets: [{ name: prod, maxGpus: many }]',
      'a.yaml: budgets: [{"name":"prod","maxGpus":"many"}] is wrong at 0.maxGpus: expected number; GPU pools and budgets that all policies share; beyond one of them nothing grows. [config/invalid-value]',
    ],
    [
      'leaseDurationMs: 10000',
      'a.yaml: leaseRenewDeadlineMs: 10000 is not below leaseDurationMs, 10000; lower the one or raise the other [config/invalid-value]',
    ],
    [
      'leaseRetryPeriodMs: 20000',
      'a.yaml: leaseRetryPeriodMs: 20000 is not below leaseRenewDeadlineMs, 10000; lower the one or raise the other [config/invalid-value]',
    ],
    ['- 1', "a.yaml: [1] is no mapping; write fields, such as 'syncPeriodMs: 15000' [config/invalid-value]"],
    [
      'period: 5',
      `a.yaml: period: is no field of the autoscaler configuration; use one of ${Object.keys(autoscalerConfigSchema.properties).join(', ')} [config/unknown-field]`,
    ],
  ])('refuses %j in one line', (text, line) => {
    const decoded = parseAutoscalerConfig(text, 'a.yaml');
    expect(decoded.kind === 'invalid' && decoded.findings.map(findingLine)).toEqual([line]);
  });

  it('refuses text that is no YAML in one line', () => {
    const decoded = parseAutoscalerConfig('a: [1', 'a.yaml');
    if (decoded.kind === 'valid') throw new Error('accepted');
    expect(findingLine(decoded.findings[0]!)).toMatch(
      /^a\.yaml: is not YAML: [^\n]+; correct the document \[config\/malformed-yaml\]$/,
    );
  });

  it('tells all that is wrong at once', () => {
    const decoded = decodeAutoscalerConfig({ syncPeriodMs: 'soon', scrapeConcurrency: 0 });
    expect(decoded.kind === 'invalid' && decoded.findings.map(({ field }) => field)).toEqual([
      'syncPeriodMs',
      'scrapeConcurrency',
    ]);
  });
});
