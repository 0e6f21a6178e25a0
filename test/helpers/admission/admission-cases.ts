import type { AdmissionCase } from './admission-case';
import { kthenaCases } from './kthena-cases';
import { routingCases } from './routing-cases';
import { scalingCases } from './scaling-cases';

/** What each admission policy is tried with, on a real API server and in TypeScript. */
export const ADMISSION_CASES: readonly AdmissionCase[] = [...routingCases, ...scalingCases, ...kthenaCases];
