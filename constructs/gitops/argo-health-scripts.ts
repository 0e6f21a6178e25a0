import { NETWORKING_GROUP, WORKLOAD_GROUP } from '../../src/labels';

/**
 * Health of each kind that Argo CD does not know, as a Lua script over `obj` that returns `hs`. Argo CD runs Lua 5.1 without libraries
 * that reach outside. A kind whose controller has not yet seen the newest spec is Progressing, so that a wave waits for it.
 */
export interface HealthScript {
  readonly group: string;
  readonly kind: string;
  readonly lua: string;
}

const NOT_OBSERVED = `local hs = {}
local status = obj.status or {}
if status.observedGeneration ~= nil and status.observedGeneration < (obj.metadata.generation or 0) then
  hs.status = "Progressing"
  hs.message = "the controller has not seen the newest spec yet"
  return hs
end
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function is(type, value)
  return conditions[type] ~= nil and conditions[type].status == value
end
local function message(type)
  return conditions[type] ~= nil and conditions[type].message or ""
end
`;

/** A workload of replicas that are groups of pods. */
const GROUPS = `${NOT_OBSERVED}if is("UpdateInProgress", "True") then
  hs.status = "Progressing"
  hs.message = message("UpdateInProgress")
elseif is("Available", "True") then
  hs.status = "Healthy"
  hs.message = message("Available")
elseif (obj.spec or {}).replicas == 0 then
  hs.status = "Healthy"
  hs.message = "scaled to zero"
else
  hs.status = "Progressing"
  hs.message = conditions["Progressing"] ~= nil and message("Progressing") or "waiting for its pods"
end
return hs
`;

/** A set of roles, each a number of replicas. */
const ROLES = `${NOT_OBSERVED}for _, role in ipairs(status.roleStatuses or {}) do
  local wanted = role.replicas or 0
  if (role.updatedReplicas or 0) < wanted or (role.readyReplicas or 0) < wanted then
    hs.status = "Progressing"
    hs.message = "role " .. role.name .. ": " .. (role.readyReplicas or 0) .. " of " .. wanted .. " replicas are ready"
    return hs
  end
end
if status.roleStatuses == nil then
  hs.status = "Progressing"
  hs.message = "waiting for its roles"
else
  hs.status = "Healthy"
end
return hs
`;

/** Routes, servers and policies are data: there is nothing to wait for. A controller that calls one not ready is believed. */
const DATA = `${NOT_OBSERVED}if is("Ready", "False") then
  hs.status = "Degraded"
  hs.message = message("Ready")
else
  hs.status = "Healthy"
end
return hs
`;

/** Pending and Inqueue are Healthy: they end when the pods come, which may be in the same wave or in a later one. */
const POD_GROUP = `local hs = {}
local phase = (obj.status or {}).phase or "Pending"
if phase == "Failed" then
  hs.status = "Degraded"
elseif phase == "Unknown" then
  hs.status = "Progressing"
else
  hs.status = "Healthy"
end
hs.message = phase
return hs
`;

/** Kthena's own booster: its children are made in the cluster. */
const BOOSTER = `${NOT_OBSERVED}if is("Failed", "True") and not is("Active", "True") then
  hs.status = "Degraded"
  hs.message = message("Failed")
elseif is("Active", "True") then
  hs.status = "Healthy"
  hs.message = message("Active")
else
  hs.status = "Progressing"
  hs.message = message("Initialized")
end
return hs
`;

/** By group and kind. */
export const HEALTH_SCRIPTS: readonly HealthScript[] = [
  { group: 'disaggregatedset.x-k8s.io', kind: 'DisaggregatedSet', lua: ROLES },
  { group: 'leaderworkerset.x-k8s.io', kind: 'LeaderWorkerSet', lua: GROUPS },
  { group: NETWORKING_GROUP, kind: 'ExternalModelProvider', lua: DATA },
  { group: NETWORKING_GROUP, kind: 'ModelRoute', lua: DATA },
  { group: NETWORKING_GROUP, kind: 'ModelServer', lua: DATA },
  { group: 'scheduling.volcano.sh', kind: 'PodGroup', lua: POD_GROUP },
  { group: 'scheduling.x-k8s.io', kind: 'PodGroup', lua: POD_GROUP },
  { group: WORKLOAD_GROUP, kind: 'AutoscalingPolicy', lua: DATA },
  { group: WORKLOAD_GROUP, kind: 'AutoscalingPolicyBinding', lua: DATA },
  { group: WORKLOAD_GROUP, kind: 'ModelBooster', lua: BOOSTER },
  { group: WORKLOAD_GROUP, kind: 'ModelServing', lua: GROUPS },
];
