//! The permissions of our own management API. With a line here, routes can require a permission, tokens can carry it as
//! a scope, and the documentation lists it. Other APIs register their own permissions. [`BUILT_IN`] are the roles that
//! every organization has; [`raises`] says which permissions can raise somebody.

mod built_in;
mod raising;

pub use built_in::{BUILT_IN, BuiltIn, OWNER, built_in};
pub use raising::{always_raises, raises};

/// Where a permission applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// In one organization, held through its roles.
    Organization,
    /// On the platform, given to a platform administrator or a platform key.
    Platform,
}

#[derive(Debug)]
pub struct OwnPermission {
    pub name: &'static str,
    pub reach: Reach,
    pub en: &'static str,
    pub pt: &'static str,
}

const fn here(name: &'static str, en: &'static str, pt: &'static str) -> OwnPermission {
    OwnPermission { name, reach: Reach::Organization, en, pt }
}

const fn platform(name: &'static str, en: &'static str, pt: &'static str) -> OwnPermission {
    OwnPermission { name, reach: Reach::Platform, en, pt }
}

pub const OWN: &[OwnPermission] = &[
    here("organization:read", "See the organization", "Ver a organização"),
    here(
        "organization:write",
        "Change the organization and its policy",
        "Alterar a organização e sua política",
    ),
    here("members:read", "See the members of the organization", "Ver os membros da organização"),
    here("members:write", "Change and disable members", "Alterar e desativar membros"),
    here("roles:read", "See the roles of the organization", "Ver os papéis da organização"),
    here("roles:write", "Create and change roles", "Criar e alterar papéis"),
    here("invitations:read", "See invitations", "Ver convites"),
    here("invitations:write", "Invite people", "Convidar pessoas"),
    here("client-policies:read", "See which apps are allowed", "Ver quais aplicativos são permitidos"),
    here("client-policies:write", "Allow and block apps", "Permitir e bloquear aplicativos"),
    here("api-keys:read", "See API keys", "Ver chaves de API"),
    here("api-keys:write", "Create and revoke API keys", "Criar e revogar chaves de API"),
    here(
        "delegations:read",
        "See what agents may do for members",
        "Ver o que agentes podem fazer pelos membros",
    ),
    here(
        "delegations:write",
        "Let agents act for members, and stop them",
        "Permitir que agentes ajam pelos membros, e impedi-los",
    ),
    here("audit:read", "Read the audit trail", "Ler a trilha de auditoria"),
    here(
        "approvals:read",
        "See what agents ask members to approve",
        "Ver o que agentes pedem que os membros aprovem",
    ),
    here("domains:read", "See the organization's domains", "Ver os domínios da organização"),
    here(
        "domains:write",
        "Add, verify and remove the organization's domains",
        "Adicionar, verificar e remover os domínios da organização",
    ),
    here("trusts:read", "See which other servers are trusted", "Ver em quais outros servidores se confia"),
    here(
        "trusts:write",
        "Trust other servers to identify members, and stop",
        "Confiar em outros servidores para identificar membros, e deixar de confiar",
    ),
    here(
        "connections:read",
        "See by which directories members sign in",
        "Ver por quais diretórios os membros entram",
    ),
    here(
        "connections:write",
        "Connect the organization to its directories",
        "Conectar a organização aos seus diretórios",
    ),
    here(
        "scim:provision",
        "Provision members and groups from a directory",
        "Provisionar membros e grupos a partir de um diretório",
    ),
    platform("platform.accounts:read", "See accounts", "Ver contas"),
    platform(
        "platform.accounts:write",
        "Disable accounts and end sessions",
        "Desativar contas e encerrar sessões",
    ),
    platform("platform.organizations:read", "See every organization", "Ver todas as organizações"),
    platform("platform.organizations:write", "Create organizations", "Criar organizações"),
    platform("platform.clients:read", "See every client", "Ver todos os clientes"),
    platform(
        "platform.clients:write",
        "Create, verify and disable clients",
        "Criar, verificar e desativar clientes",
    ),
    platform("platform.apis:read", "See every API", "Ver todas as APIs"),
    platform("platform.apis:write", "Register and remove APIs", "Registrar e remover APIs"),
    platform(
        "platform.connections:read",
        "See connections to other providers",
        "Ver conexões com outros provedores",
    ),
    platform(
        "platform.connections:write",
        "Create, change and test connections to other providers",
        "Criar, alterar e testar conexões com outros provedores",
    ),
    platform("platform.api-keys:read", "See platform keys", "Ver chaves da plataforma"),
    platform(
        "platform.api-keys:write",
        "Create and revoke platform keys",
        "Criar e revogar chaves da plataforma",
    ),
    platform(
        "platform.log:read",
        "Read the security log and refusals",
        "Ler o registro de segurança e recusas",
    ),
    platform(
        "organizations:administer",
        "Suspend organizations and act in them, with a reason they can read",
        "Suspender organizações e agir nelas, com um motivo que elas podem ler",
    ),
    platform("members:impersonate", "Act as a member for a while", "Agir como um membro por algum tempo"),
];

pub fn find(name: &str) -> Option<&'static OwnPermission> {
    OWN.iter().find(|permission| permission.name == name)
}

#[cfg(test)]
mod tests {
    use porteiro_protocol::permission::{Permission, RESERVED};

    use super::*;

    #[test]
    fn every_one_is_a_permission_and_the_reserved_ones_are_among_them() {
        for permission in OWN {
            assert!(Permission::parse(permission.name).is_ok(), "{}", permission.name);
            assert_eq!(OWN.iter().filter(|other| other.name == permission.name).count(), 1);
        }
        assert!(RESERVED.iter().all(|name| find(name).is_some_and(|it| it.reach == Reach::Platform)));
    }
}
