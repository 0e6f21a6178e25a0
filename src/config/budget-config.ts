import { type Static, Type } from '@sinclair/typebox';

/** A limit on what all policies together may have. */
export const budgetSchema = Type.Object(
  {
    name: Type.String({ description: 'How conditions call it.', minLength: 1 }),
    namespace: Type.Optional(Type.String({ description: 'Only pods of this namespace count. Absent: all.', minLength: 1 })),
    accelerator: Type.Optional(
      Type.String({ description: 'Only pods on this GPU class of the catalogue count. Absent: all.', minLength: 1 }),
    ),
    maxGpus: Type.Optional(Type.Number({ description: 'Most accelerators that pods may ask for.', minimum: 0 })),
    maxCostPerHour: Type.Optional(
      Type.Number({ description: 'Most that pods may cost per hour, in the currency of `costPerReplicaHour`.', minimum: 0 }),
    ),
  },
  { additionalProperties: false, description: 'A GPU pool or a budget that policies share.' },
);

export type BudgetConfig = Readonly<Static<typeof budgetSchema>>;
