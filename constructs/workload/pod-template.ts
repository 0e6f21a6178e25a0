/** A pod template as JSON. Fields that the 1.28 types do not know stay in it. */
export interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: PodTemplateSpec;
}

export interface PodTemplateSpec {
  readonly containers: readonly PodContainer[];
  readonly initContainers?: readonly PodContainer[];
  readonly [field: string]: unknown;
}

export interface PodContainer {
  readonly name: string;
  readonly image?: string;
  readonly resources?: {
    readonly limits?: Readonly<Record<string, string | number>>;
    readonly requests?: Readonly<Record<string, string | number>>;
  };
  readonly [field: string]: unknown;
}
