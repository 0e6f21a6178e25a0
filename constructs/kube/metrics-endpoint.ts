/** A change of labels before (`relabelings`) or after (`metricRelabelings`) a scrape. */
export interface Relabeling {
  readonly sourceLabels?: readonly string[];
  readonly separator?: string;
  readonly targetLabel?: string;
  readonly regex?: string;
  readonly replacement?: string;
  readonly action?: string;
}

/** One page that Prometheus reads, as ServiceMonitor and PodMonitor share it. */
export interface MetricsEndpoint {
  readonly port: string;
  readonly path?: string;
  readonly interval?: string;
  readonly scrapeTimeout?: string;
  readonly relabelings?: readonly Relabeling[];
  readonly metricRelabelings?: readonly Relabeling[];
}

/** Namespaces that a monitor looks into. */
export interface MonitoredNamespaces {
  readonly any?: boolean;
  readonly matchNames?: readonly string[];
}

/** Labels of what a monitor looks at. */
export interface MonitorSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] }[];
}
