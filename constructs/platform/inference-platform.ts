import { Construct } from 'constructs';
import { Autoscaler, type AutoscalerProps } from './autoscaler';
import { CustomResourceDefinitions } from './custom-resource-definitions';
import { Router, type RouterProps } from './router';

export interface InferencePlatformProps {
  /** The router, or `false` for none. @default two replicas */
  readonly router?: RouterProps | false;
  /** The autoscaler, or `false` for none. @default one replica */
  readonly autoscaler?: AutoscalerProps | false;
  /** Whether this stack owns the definitions of the kinds, or another one does. @default 'install', but for those of Kthena where it is present */
  readonly crds?: 'install' | 'external';
}

/** L3: what serves and scales models in a cluster. Creates the CustomResourceDefinitions, a Router and an Autoscaler; each alone if wanted. */
export class InferencePlatform extends Construct {
  /** Absent when `crds` is external. */
  readonly crds: CustomResourceDefinitions | undefined;
  readonly router: Router | undefined;
  readonly autoscaler: Autoscaler | undefined;

  constructor(scope: Construct, id: string, props: InferencePlatformProps = {}) {
    super(scope, id);
    if (props.crds !== 'external') this.crds = new CustomResourceDefinitions(this, 'Crds');
    if (props.router !== false) this.router = new Router(this, 'Router', props.router);
    if (props.autoscaler !== false) this.autoscaler = new Autoscaler(this, 'Autoscaler', props.autoscaler);
  }
}
