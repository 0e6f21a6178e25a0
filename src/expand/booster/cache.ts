import { createHash } from 'node:crypto';
import type { BoosterBackend } from '../../api/model-booster';

const PVC = 'pvc://';
const HOST_PATH = 'hostpath://';

/** Where the containers see the cache: `/` and the URI without its scheme and outer slashes; empty without a URI. */
export function cachePath(cacheURI: string | undefined): string {
  if (cacheURI === undefined || !cacheURI.includes('://')) return '';
  return `/${trimSlashes(cacheURI.split('://')[1]!)}`;
}

/** Folder of the model in the cache, which the downloader fills and the engine reads: named by the MD5 of its URI. */
export function modelPath({ cacheURI, modelURI }: BoosterBackend): string {
  return `${cachePath(cacheURI)}/${createHash('md5').update(modelURI).digest('hex')}`;
}

/** Volume of the cache: a claim, a folder of the node, or nothing that lasts. */
export function cacheVolume({ name, cacheURI = '' }: BoosterBackend) {
  const volume = { name: cacheVolumeName(name) };
  if (cacheURI.startsWith(PVC)) {
    return { ...volume, persistentVolumeClaim: { claimName: trimSlashes(cacheURI.slice(PVC.length)) } };
  }
  if (cacheURI.startsWith(HOST_PATH)) return { ...volume, hostPath: { path: cachePath(cacheURI), type: 'DirectoryOrCreate' } };
  return { ...volume, emptyDir: {} };
}

export function cacheMount({ name, cacheURI }: BoosterBackend) {
  return { name: cacheVolumeName(name), mountPath: cachePath(cacheURI) };
}

const cacheVolumeName = (backend: string): string => `${backend}-weights`;

const trimSlashes = (text: string): string => text.replace(/^\/+|\/+$/g, '');
