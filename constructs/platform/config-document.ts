import { createHash } from 'node:crypto';
import { Yaml } from 'cdk8s';
import { k8s } from 'cdk8s-plus-28';
import type { Construct } from 'constructs';
import { ownedLabels } from '../owned-labels';

/** A configuration file in a ConfigMap, and the hash by which pods restart when what they must restart for changes. */
export interface ConfigDocument {
  readonly configMap: k8s.KubeConfigMap;
  readonly hash: string;
}

/**
 * Creates a ConfigMap that holds `document` as `fileName`. Only what the user set is in it: an image's defaults are the image's.
 *
 * @param restartPart the part of a document that pods restart for.
 */
export function createConfigDocument(
  scope: Construct,
  name: string,
  fileName: string,
  document: object,
  restartPart: (document: object) => object,
): ConfigDocument {
  const text = Yaml.stringify(document);
  const configMap = new k8s.KubeConfigMap(scope, 'Config', {
    metadata: { name, labels: ownedLabels({ app: name }) },
    data: { [fileName]: text },
  });
  const hashed = Yaml.stringify(restartPart(document));
  return { configMap, hash: createHash('sha256').update(hashed).digest('hex').slice(0, 16) };
}
