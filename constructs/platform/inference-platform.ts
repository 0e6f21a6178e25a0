import { Construct } from 'constructs';
import { stackContext } from '../stack-context';
import { AdmissionPolicies, type AdmissionPoliciesProps } from './admission-policies';
import { Autoscaler, type AutoscalerProps } from './autoscaler';
import { CustomResourceDefinitions } from './custom-resource-definitions';
import { Monitoring, type MonitoringOptions } from './monitoring';
import { Router, type RouterProps } from './router';

export interface InferencePlatformProps {
  /** The router, or `false` for none. @default two replicas */
  readonly router?: RouterProps | false;
  /** The autoscaler, or `false` for none. @default one replica; none where Kthena's controllers scale by the same policies */
  readonly autoscaler?: AutoscalerProps | false;
  /** Whether this stack owns the definitions of the kinds, or another one does. @default 'install', but for those of Kthena where it is present */
  readonly crds?: 'install' | 'external';
  /** Monitors, alerts and a dashboard, for clusters with the Prometheus operator. @default none */
  readonly monitoring?: MonitoringOptions;
  /** The API server checks the kinds' cross-field rules; Kubernetes 1.30 or newer. @default not */
  readonly admission?: AdmissionPoliciesProps;
}

/**
 * L3: what serves and scales models in a cluster. Creates the CustomResourceDefinitions, a Router and an Autoscaler, and on request
 * Monitoring and AdmissionPolicies; each alone if wanted.
 *
 * @example
 * new InferencePlatform(system, 'platform', {
 *   router: { replicas: 3, config: { limits: { requestsInFlight: 5_000 } } },
 *   monitoring: { labels: { release: 'prometheus' } },
 * });
 */
export class InferencePlatform extends Construct {
  /** Absent when `crds` is external. */
  readonly crds: CustomResourceDefinitions | undefined;
  readonly router: Router | undefined;
  readonly autoscaler: Autoscaler | undefined;
  readonly monitoring: Monitoring | undefined;
  readonly admission: AdmissionPolicies | undefined;

  constructor(scope: Construct, id: string, props: InferencePlatformProps = {}) {
    super(scope, id);
    if (props.crds !== 'external') this.crds = new CustomResourceDefinitions(this, 'Crds');
    if (props.router !== false) this.router = new Router(this, 'Router', props.router);
    const autoscaler = props.autoscaler ?? (stackContext(this).cluster.kthenaServesWorkloads ? false : {});
    if (autoscaler !== false) this.autoscaler = new Autoscaler(this, 'Autoscaler', autoscaler);
    if (props.monitoring !== undefined) {
      const { router, autoscaler } = this;
      this.monitoring = new Monitoring(this, 'Monitoring', { ...props.monitoring, router, autoscaler });
    }
    if (props.admission !== undefined) this.admission = new AdmissionPolicies(this, 'Admission', props.admission);
  }
}
