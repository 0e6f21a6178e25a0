import type { Construct } from 'constructs';
import { addCheck } from '../check';
import { mirroredImage, ownImage } from '../images';
import { stackContext } from '../stack-context';

/** The image of `part`: `given`, else registry and tag of the app. Without either it is an error, since no default can be known to exist. */
export function platformImage(construct: Construct, part: 'router' | 'autoscaler', given: string | undefined): string {
  const { images } = stackContext(construct);
  const image = given === undefined ? ownImage(part, images) : mirroredImage(given, images);
  if (image !== undefined) return image;
  addCheck(construct, () => [
    {
      code: 'images/not-given',
      severity: 'error',
      field: 'image',
      message: `nothing says where the image kvasir-${part} is`,
      remedy: "push it, and give GitOpsApp images: { registry: 'registry.example.com/kvasir', tag: '0.1.0' }",
    },
  ]);
  return `kvasir-${part}:not-given`;
}
