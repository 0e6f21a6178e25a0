/**
 * The file that lists what `GitOpsApp` wrote, committed with it. It has no extension, because GitOps tools take every `.yaml`, `.yml`
 * and `.json` for a manifest, and one path a line, so that branches merge.
 */
export const INDEX_FILE = '.kvasir-index';
