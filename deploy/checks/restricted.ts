import type { IPodSpec } from 'kubernetes-models/v1/PodSpec';

const volumeKinds = [
  ...['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral'],
  ...['persistentVolumeClaim', 'projected', 'secret'],
];

/**
 * Returns the rules of Kubernetes' restricted Pod Security Standard that a pod breaks, each by the name that the
 * documentation of the standard gives it.
 */
export function restrictedProblems(pod: IPodSpec): string[] {
  const security = pod.securityContext ?? {};
  const containers = [...(pod.containers ?? []), ...(pod.initContainers ?? [])];
  const rules: [string, boolean][] = [
    ['Host Namespaces', !pod.hostNetwork && !pod.hostPID && !pod.hostIPC],
    ['Sysctls', (security.sysctls ?? []).length === 0],
    [
      'Volume Types',
      (pod.volumes ?? []).every(({ name: _, ...kind }) =>
        Object.keys(kind).every((each) => volumeKinds.includes(each)),
      ),
    ],
  ];
  for (const { name, ports = [], securityContext: own = {} } of containers) {
    const seccomp = (own.seccompProfile ?? security.seccompProfile)?.type;
    const { add = [], drop = [] } = own.capabilities ?? {};
    const ofContainer: [string, boolean][] = [
      ['Privileged Containers', own.privileged !== true],
      ['Capabilities', drop.includes('ALL') && add.every((each) => each === 'NET_BIND_SERVICE')],
      ['Host Ports', ports.every(({ hostPort = 0 }) => hostPort === 0)],
      ['/proc Mount Type', own.procMount === undefined || own.procMount === 'Default'],
      ['Privilege Escalation', own.allowPrivilegeEscalation === false],
      ['Running as Non-root', (own.runAsNonRoot ?? security.runAsNonRoot) === true],
      ['Running as Non-root user', (own.runAsUser ?? security.runAsUser) !== 0],
      ['Seccomp', seccomp === 'RuntimeDefault' || seccomp === 'Localhost'],
    ];
    rules.push(...ofContainer.map(([rule, holds]): [string, boolean] => [`${name}: ${rule}`, holds]));
  }
  return rules.filter(([, holds]) => !holds).map(([rule]) => rule);
}
