import { RouterError } from '../errors';
import type { Identity } from './identity';

/** Whether somebody may ask for a model, by the name that clients use. A base model's name does not include its adapters. */
export function mayUse({ models }: Identity, model: string): boolean {
  return models === 'all' || models.has(model);
}

/**
 * Checked before any route is looked at, so that the answer is the same whether the model exists or not.
 *
 * @throws RouterError `model_not_allowed`.
 */
export function requireModel(identity: Identity, model: string): void {
  if (!mayUse(identity, model))
    throw new RouterError('model_not_allowed', 'these credentials do not include this model', 'model');
}
