export { acknowledgementAnnotation, sortByAnnotations } from './acknowledgements';
export { checkObjects } from './check-objects';
export { type Amount, type Bill, type BillLine, billOfObjects, type ModelBill } from './cost';
export type { CheckedObject } from './object-set';
export { checkReferences } from './references';
